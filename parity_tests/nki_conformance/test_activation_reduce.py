"""nki.isa.activation_reduce: activation with its sum."""

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl
import numpy as np

from parity_tests.nki_program import (
    FP32,
    numbers,
    on_chip,
    same_bits,
)


def test_activation_reduce() -> None:
    x = numbers(8, 12)
    _, total = on_chip(
        lambda out, total, x: nisa.activation_reduce(
            dst=out, op=nl.square, data=x, reduce_op=nl.add, reduce_res=total, scale=0.5
        ),
        x,
        outputs=[((8, 12), FP32), ((8, 1), FP32)],
    )
    assert same_bits(total, np.square(x * np.float32(0.5)).sum(axis=1, keepdims=True))
