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


@pytest.mark.parametrize("numbers_first", [True, False])
def test_a_bound_may_be_a_number(numbers_first: bool) -> None:
    """As in a score mask whose lower end is the constant 0 and whose upper end a row's length."""
    x, length = numbers(4, 10), np.array([[0], [3], [9], [10]], np.float32)

    def body(out: Any, top: Any, x: Any, length: Any) -> None:
        bounds = {"bound0": 2.0, "bound1": length} if numbers_first else {"bound0": length, "bound1": 2}
        nisa.range_select(
            dst=out,
            on_true_tile=x,
            comp_op0=nl.greater_equal if numbers_first else nl.less,
            comp_op1=nl.less if numbers_first else nl.greater_equal,
            **bounds,
            reduce_cmd=nisa.reduce_cmd.idle,
            reduce_res=top,
            on_false_value=-3.4028235e38,
        )

    found, top = on_chip(body, x, length, outputs=[((4, 10), FP32), ((4, 1), FP32)])
    position = np.arange(10, dtype=np.float32)
    expected = np.where((position >= 2) & (position < length), x, np.finfo(np.float32).min)
    assert same_bits(found, expected)
    assert same_bits(top, expected.max(axis=1, keepdims=True)), "the command is always reset_reduce"


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
    "bound": Check(lambda: select(bound0=tile(4, 2)), "one value per partition", lambda: select(bound0=1)),
    "no bound": Check(lambda: select(bound1=None), "expected a number or an fp32 tensor", lambda: select(bound1=4.5)),
    "chained": Check(
        lambda: select(reduce_cmd=nisa.reduce_cmd.reduce),
        "reduces its own",
        lambda: select(reduce_cmd=nisa.reduce_cmd.idle),
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_refusals(name: str) -> None:
    CHECKS[name].hold()
