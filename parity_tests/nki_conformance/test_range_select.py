"""nki.isa.range_select: a window of positions, and its maximum."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np

from parity_tests.nki_program import (
    FP32,
    numbers,
    on_chip,
    same_bits,
)


def test_range_select_keeps_a_window_and_its_maximum() -> None:
    x = numbers(4, 10)
    low, high = np.array([[0], [2], [3], [9]], np.float32), np.array([[9], [5], [4], [10]], np.float32)

    def body(out: Any, top: Any, x: Any, low: Any, high: Any) -> None:
        nisa.range_select(
            dst=out,
            on_true_tile=x,
            comp_op0=nl.greater_equal,
            comp_op1=nl.less,
            bound0=low,
            bound1=high,
            reduce_res=top,
            range_start=1,
        )

    found, top = on_chip(body, x, low, high, outputs=[((4, 10), FP32), ((4, 1), FP32)])
    position = 1 + np.arange(10, dtype=np.float32)
    expected = np.where((position >= low) & (position < high), x, np.finfo(np.float32).min)
    assert same_bits(found, expected)
    assert same_bits(top, expected.max(axis=1, keepdims=True))
