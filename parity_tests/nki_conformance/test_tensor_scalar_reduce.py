"""nki.isa.tensor_scalar_reduce: an operator with a scalar, and a reduction of its results."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl
import pytest

from parity_tests.nki_program import (
    ARITHMETIC,
    BF16,
    FP32,
    numbers,
    on_chip,
    same_bits,
    wide,
)


@pytest.mark.parametrize("op", ["add", "multiply", "maximum", "minimum"])
def test_tensor_scalar_reduce(op: str) -> None:
    x, s = numbers(128, 40, dtype=BF16), numbers(128, 1, seed=1)

    def body(out: Any, result: Any, x: Any, s: Any) -> None:
        nisa.tensor_scalar_reduce(dst=out, data=x, op0=nl.add, operand0=s, reduce_op=getattr(nl, op), reduce_res=result)

    found, result = on_chip(body, x, s, outputs=[((128, 40), BF16), ((128, 1), FP32)])
    values = wide(x) + s
    assert same_bits(found, values.astype(BF16))
    assert same_bits(result, ARITHMETIC[op].reduce(values, axis=1, keepdims=True))


def test_tensor_scalar_reduce_continues_from_an_initial_value() -> None:
    x, start = numbers(4, 6), numbers(4, 1, seed=1)

    def body(out: Any, result: Any, x: Any, start: Any) -> None:
        nisa.tensor_scalar_reduce(
            dst=out,
            data=x,
            op0=nl.multiply,
            operand0=2.0,
            reduce_op=nl.add,
            reduce_res=result,
            reduce_cmd=nisa.reduce_cmd.load_reduce,
            reduce_init=start,
            reduce_res_negate=True,
        )

    _, result = on_chip(body, x, start, outputs=[((4, 6), FP32), ((4, 1), FP32)])
    assert same_bits(result, -(start + (x * 2).sum(axis=1, keepdims=True)))


def test_a_reduction_goes_on_under_its_other_name() -> None:
    """nl.max and nl.maximum are one operator."""
    x = numbers(4, 6)

    def body(out: Any, result: Any, x: Any) -> None:
        for command, op in ((nisa.reduce_cmd.reset_reduce, nl.max), (nisa.reduce_cmd.reduce, nl.maximum)):
            nisa.tensor_scalar_reduce(
                dst=out,
                data=x,
                op0=nl.multiply,
                operand0=-1.0 if op is nl.max else 1.0,
                reduce_op=op,
                reduce_res=result,
                reduce_cmd=command,
            )

    _, result = on_chip(body, x, outputs=[((4, 6), FP32), ((4, 1), FP32)])
    assert same_bits(result, abs(x).max(axis=1, keepdims=True))
    assert not same_bits(result, x.max(axis=1, keepdims=True))
