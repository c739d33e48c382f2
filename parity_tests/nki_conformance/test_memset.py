"""nki.isa.memset: a constant in every element."""

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


@pytest.mark.parametrize(
    ("dtype", "value"), [(FP32, 0.1), (BF16, 0.1), (np.dtype(np.int32), -7), (np.dtype(np.uint8), 255)]
)
def test_memset(dtype: Any, value: Any) -> None:
    (found,) = on_chip(lambda out: nisa.memset(dst=out, value=value), outputs=[((4, 3), dtype)])
    assert same_bits(
        found, np.full((4, 3), value, np.float32 if dtype.kind != "i" and dtype.kind != "u" else dtype).astype(dtype)
    )
