"""nki.isa.reciprocal: precise, over all reals."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import numpy as np
import pytest

from parity_tests.nki_program import (
    PAIRS,
    numbers,
    on_chip,
    same_bits,
    wide,
)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_reciprocal(source: Any, target: Any) -> None:
    x = numbers(16, 5, dtype=source, low=0.5, high=9)
    (found,) = on_chip(lambda out, x: nisa.reciprocal(dst=out, data=x), x, outputs=[((16, 5), target)])
    assert same_bits(found, (np.float32(1) / wide(x)).astype(target))
