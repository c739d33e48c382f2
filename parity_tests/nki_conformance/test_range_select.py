"""nki.isa.range_select: a window of positions, and its maximum."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import (
    FP32,
    Check,
    empty,
    numbers,
    on_chip,
    same_bits,
    tile,
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


def select(**more: Any) -> None:
    nisa.range_select(
        **{
            "dst": empty(4, 6),
            "on_true_tile": tile(4, 6),
            "comp_op0": nl.greater_equal,
            "comp_op1": nl.less,
            "bound0": tile(4, 1, value=0.0),
            "bound1": tile(4, 1, value=4.0),
            **more,
        }
    )


CHECKS = {
    "not_equal": Check(
        lambda: select(comp_op0=nl.not_equal), "no comparison of range_select", lambda: select(comp_op0=nl.equal)
    ),
    "integers": Check(
        lambda: select(on_true_tile=tile(4, 6, dtype=nl.int32)),
        "expected floating point",
        lambda: select(on_true_tile=tile(4, 6, dtype=nl.bfloat16)),
    ),
    "positions": Check(
        lambda: select(range_start=2**24 - 5), "exact below 2^24", lambda: select(range_start=2**24 - 6)
    ),
    "type of the maximum": Check(
        lambda: select(reduce_res=tile(4, 1, dtype=nl.int32)),
        "reduce_res: type dtype('int32')",
        lambda: select(reduce_res=tile(4, 1)),
    ),
    "bound": Check(lambda: select(bound0=tile(4, 2)), "one value per partition", select),
}


@pytest.mark.parametrize("name", CHECKS)
def test_refusals(name: str) -> None:
    CHECKS[name].hold()
