"""nki.isa.tensor_scalar_reduce: an operator with a scalar, and a reduction of its results."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import (
    ARITHMETIC,
    BF16,
    FP8,
    FP32,
    Check,
    empty,
    numbers,
    on_chip,
    same_bits,
    tile,
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


@pytest.mark.parametrize("dtype", [FP32, BF16])
def test_rows_are_scaled_by_their_greatest_magnitude_for_fp8(dtype: Any) -> None:
    """How kernels quantise per token: absmax, scale, reciprocal, cast; the largest element of a row becomes 240."""
    x = numbers(128, 40, dtype=dtype)
    x[3] = 0

    def body(out: Any, scale: Any, x: Any) -> None:
        absolute, inverse = empty(128, 40, dtype=x.dtype), empty(128, 1)
        nisa.tensor_scalar_reduce(
            dst=absolute, data=x, op0=nl.abs, operand0=0.0, reduce_op=nl.maximum, reduce_res=scale
        )
        nisa.tensor_scalar(dst=scale, data=scale, op0=nl.multiply, operand0=1 / 240, op1=nl.maximum, operand1=1e-5)
        nisa.reciprocal(dst=inverse, data=scale)
        nisa.tensor_scalar(dst=out, data=x, op0=nl.multiply, operand0=inverse)

    found, scale = on_chip(body, x, outputs=[((128, 40), FP8), ((128, 1), FP32)])
    greatest = abs(wide(x)).max(axis=1, keepdims=True)
    assert same_bits(scale, np.maximum(greatest * np.float32(1 / 240), np.float32(1e-5)))
    assert same_bits(found, (wide(x) * np.reciprocal(scale)).astype(FP8))
    assert abs(wide(found)).max(axis=1).tolist() == [240.0 if row != 3 else 0.0 for row in range(128)]
    assert not same_bits(scale * 240, wide(x).max(axis=1, keepdims=True)), "the sign matters"


def test_a_unary_operator_as_the_first_of_the_other_vector_instructions() -> None:
    x, y = numbers(4, 6), numbers(4, 6, seed=1)

    def body(out: Any, total: Any, x: Any, y: Any) -> None:
        nisa.scalar_tensor_tensor(dst=out, data=x, op0=nl.abs, operand0=0.0, op1=nl.subtract, operand1=y)
        nisa.tensor_scalar_cumulative(dst=total, src=x, op0=nl.abs, op1=nl.add, imm0=0.0)

    found, total = on_chip(body, x, y, outputs=[((4, 6), FP32), ((4, 6), FP32)])
    assert same_bits(found, abs(x) - y)
    assert same_bits(total, np.cumsum(abs(x), axis=1, dtype=np.float32))
    assert not same_bits(total, np.cumsum(x, axis=1, dtype=np.float32))


def reduced(op0: Any, operand0: Any) -> None:
    nisa.tensor_scalar_reduce(
        dst=empty(4, 6), data=tile(4, 6), op0=op0, operand0=operand0, reduce_op=nl.maximum, reduce_res=empty(4, 1)
    )


CHECKS = {
    "operand of a unary operator": Check(
        lambda: reduced(nl.abs, 1.0), "the unary operator nl.abs takes 0 or None", lambda: reduced(nl.abs, None)
    ),
    "rsqrt": Check(lambda: reduced(nl.rsqrt, 0.0), "nl.rsqrt is GpSimd's", lambda: reduced(nl.reciprocal, 0.0)),
    "power": Check(lambda: reduced(nl.power, 2.0), "nl.power runs on GpSimd", lambda: reduced(nl.multiply, 2.0)),
    "divide": Check(lambda: reduced(nl.divide, 2.0), "reciprocal", lambda: reduced(nl.multiply, 0.5)),
    "activation": Check(
        lambda: reduced(nl.exp, 0.0), "is no arithmetic operator of the ALU", lambda: reduced(nl.add, 0.0)
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_refusals(name: str) -> None:
    CHECKS[name].hold()
