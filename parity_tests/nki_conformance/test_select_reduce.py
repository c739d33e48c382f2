"""nki.isa.select_reduce: a selection by predicate, and its maximum."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import numpy as np
import pytest

from parity_tests.nki_program import (
    FP32,
    numbers,
    on_chip,
    same_bits,
)


@pytest.mark.parametrize("reverse", [False, True])
def test_select_reduce(reverse: bool) -> None:
    x, other = numbers(8, 9), numbers(8, 1, seed=1)
    predicate = (np.arange(72).reshape(8, 9) % 2).astype(np.uint8)

    def body(out: Any, top: Any, x: Any, other: Any, predicate: Any) -> None:
        nisa.select_reduce(
            dst=out,
            predicate=predicate,
            on_true=x,
            on_false=other,
            reduce_res=top,
            reduce_cmd=nisa.reduce_cmd.reset_reduce,
            reverse_pred=reverse,
        )

    found, top = on_chip(body, x, other, predicate, outputs=[((8, 9), FP32), ((8, 1), FP32)])
    expected = np.where((predicate != 0) != reverse, x, other)
    assert same_bits(found, expected)
    assert same_bits(top, expected.max(axis=1, keepdims=True))
