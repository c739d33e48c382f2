"""nki.isa.dma_copy: bits between equal types, through fp32 otherwise."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import numpy as np
import pytest

from parity_tests.nki_program import (
    FP32,
    PAIRS,
    numbers,
    on_chip,
    same_bits,
    wide,
)


@pytest.mark.parametrize(("source", "target"), [*PAIRS, (np.dtype(np.int32), FP32), (FP32, np.dtype(np.int8))])
def test_dma_copy_converts_through_fp32(source: Any, target: Any) -> None:
    x = numbers(100, 7, low=-300, high=300).astype(source)
    (found,) = on_chip(lambda out, x: nisa.dma_copy(dst=out, src=x), x, outputs=[((100, 7), target)])
    expected = wide(x).astype(target) if target.kind != "i" else np.clip(np.rint(wide(x)), -128, 127).astype(np.int8)
    assert same_bits(found, expected)


def test_dma_copy_between_shapes_keeps_row_major_order() -> None:
    x = numbers(4, 6)
    (found,) = on_chip(lambda out, x: nisa.dma_copy(dst=out, src=x), x, outputs=[((8, 3), FP32)])
    assert same_bits(found, x.reshape(8, 3))
