"""nki.isa.affine_select: a mask by position."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np

from parity_tests.nki_program import (
    BF16,
    numbers,
    on_chip,
    same_bits,
    wide,
)


def test_affine_select_makes_a_causal_mask() -> None:
    x = numbers(8, 16, dtype=BF16)

    def body(out: Any, x: Any) -> None:
        nisa.affine_select(
            dst=out,
            pattern=[[-1, 16]],
            channel_multiplier=1,
            offset=4,
            on_true_tile=x,
            on_false_value=-9984.0,
            cmp_op=nl.greater_equal,
        )

    (found,) = on_chip(body, x, outputs=[((8, 16), BF16)])
    visible = np.arange(16)[None, :] <= 4 + np.arange(8)[:, None]
    assert same_bits(found, np.where(visible, wide(x), np.float32(-9984.0)).astype(BF16))
