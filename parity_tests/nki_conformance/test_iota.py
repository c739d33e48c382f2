"""nki.isa.iota: an affine pattern of integers."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import numpy as np
import pytest

from parity_tests.nki_program import (
    BF16,
    FP32,
    on_chip,
    same_bits,
)


@pytest.mark.parametrize("dtype", [np.dtype(np.int32), FP32, BF16, np.dtype(np.uint8)])
def test_iota(dtype: Any) -> None:
    def body(out: Any) -> None:
        nisa.iota(dst=out, pattern=[[10, 3], [-1, 4]], offset=5, channel_multiplier=100)

    (found,) = on_chip(body, outputs=[((6, 12), dtype)])
    p, i, j = np.meshgrid(np.arange(6), np.arange(3), np.arange(4), indexing="ij")
    values = (5 + 100 * p + 10 * i - j).reshape(6, 12).astype(np.int32)
    expected = (
        np.clip(values, 0, 255).astype(np.uint8) if dtype == np.uint8 else values.astype(np.float32).astype(dtype)
    )
    assert same_bits(found, expected)
