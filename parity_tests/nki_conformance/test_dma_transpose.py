"""nki.isa.dma_transpose: whole tensors, by rank."""

from __future__ import annotations

import nki.isa as nisa
import numpy as np
import pytest

from parity_tests.nki_program import (
    BF16,
    numbers,
    on_chip,
    same_bits,
)


@pytest.mark.parametrize(("shape", "axes"), [((5, 3), (1, 0)), ((5, 3, 2), (2, 1, 0)), ((5, 3, 2, 4), (3, 1, 2, 0))])
def test_dma_transpose(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = numbers(*shape, dtype=BF16)
    expected = np.ascontiguousarray(x.transpose(axes))
    (found,) = on_chip(lambda out, x: nisa.dma_transpose(dst=out, src=x), x, outputs=[(expected.shape, BF16)])
    assert same_bits(found, expected)
