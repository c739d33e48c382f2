"""nki.isa.tensor_reduce: over trailing free axes."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import (
    ARITHMETIC,
    FLOATS,
    FP32,
    numbers,
    on_chip,
    same_bits,
    wide,
)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["add", "multiply", "maximum", "minimum"])
def test_tensor_reduce(op: str, dtype: Any) -> None:
    x = numbers(128, 3, 10, dtype=dtype)
    last, both = on_chip(
        lambda last, both, x: (
            nisa.tensor_reduce(dst=last, op=getattr(nl, op), data=x, axis=2),
            nisa.tensor_reduce(dst=both, op=getattr(nl, op), data=x, axis=(1, 2), negate=True),
        ),
        x,
        outputs=[((128, 3), dtype), ((128, 1), FP32)],
    )
    ufunc = ARITHMETIC[op]
    assert same_bits(last, ufunc.reduce(wide(x), axis=2).astype(dtype))
    assert same_bits(both, -ufunc.reduce(wide(x).reshape(128, 30), axis=1)[:, None])


def test_tensor_reduce_on_bits() -> None:
    x = np.arange(1, 25, dtype=np.uint8).reshape(4, 6)
    (found,) = on_chip(
        lambda out, x: nisa.tensor_reduce(dst=out, op=nl.bitwise_xor, data=x, axis=1),
        x,
        outputs=[((4, 1), np.dtype(np.uint8))],
    )
    assert same_bits(found, np.bitwise_xor.reduce(x, axis=1)[:, None])
