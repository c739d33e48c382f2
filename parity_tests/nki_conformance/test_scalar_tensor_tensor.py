"""nki.isa.scalar_tensor_tensor: an operator with a scalar, then one with a tile."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import (
    ARITHMETIC,
    BF16,
    FP32,
    PAIRS,
    Check,
    empty,
    numbers,
    on_chip,
    run,
    same_bits,
    tile,
    wide,
)


@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize("reverse", [False, True])
def test_scalar_tensor_tensor(source: Any, target: Any, reverse: bool) -> None:
    x, s, y = numbers(128, 13, dtype=source), numbers(128, 1, seed=1), numbers(128, 13, dtype=source, seed=2)
    (found,) = on_chip(
        lambda out, x, s, y: nisa.scalar_tensor_tensor(
            dst=out, data=x, op0=nl.multiply, operand0=s, op1=nl.subtract, operand1=y, reverse1=reverse
        ),
        x,
        s,
        y,
        outputs=[((128, 13), target)],
    )
    scaled = wide(x) * s
    expected = wide(y) - scaled if reverse else scaled - wide(y)
    assert same_bits(found, expected.astype(target))


@pytest.mark.parametrize("op", ["add", "multiply", "maximum", "minimum"])
def test_the_result_can_be_reduced_over_instructions(op: str) -> None:
    x, y = numbers(8, 12), numbers(8, 12, seed=1)
    command = nisa.reduce_cmd

    def body(out: Any, result: Any, x: Any, y: Any) -> None:
        for part, how in ((slice(0, 5), command.reset_reduce), (slice(5, 12), command.reduce)):
            nisa.scalar_tensor_tensor(
                dst=out[:, part],
                data=x[:, part],
                op0=nl.multiply,
                operand0=2.0,
                op1=nl.add,
                operand1=y[:, part],
                reduce_cmd=how,
                reduce_op=getattr(nl, op),
                reduce_res=result if how is command.reduce else None,
            )

    found, result = on_chip(body, x, y, outputs=[((8, 12), BF16), ((8, 1), FP32)])
    values = x * np.float32(2) + y
    ufunc = ARITHMETIC[op]
    assert same_bits(found, values.astype(BF16))
    parts = [ufunc.reduce(values[:, part], axis=1, keepdims=True) for part in (slice(0, 5), slice(5, 12))]
    assert same_bits(result, ufunc(*parts))


def combine(**more: Any) -> None:
    nisa.scalar_tensor_tensor(
        **{
            "dst": empty(4, 6),
            "data": tile(4, 6),
            "op0": nl.multiply,
            "operand0": 2.0,
            "op1": nl.add,
            "operand1": tile(4, 6),
            **more,
        }
    )


def clobbering(**between: Any) -> None:
    """A chain of tensor_scalar_reduce with another user of the Vector engine's registers in it."""
    for command in (nisa.reduce_cmd.reset_reduce, nisa.reduce_cmd.reduce):
        if command is nisa.reduce_cmd.reduce and between:
            combine(**between)
        nisa.tensor_scalar_reduce(
            dst=empty(4, 6), data=tile(4, 6), op0=nl.add, operand0=1.0, reduce_op=nl.add, reduce_cmd=command
        )


CHECKS = {
    "reduction": Check(
        lambda: combine(reduce_op=nl.logical_and), "not legal as a reduction", lambda: combine(reduce_op=nl.add)
    ),
    "result without an operator": Check(
        lambda: combine(reduce_res=tile(4, 1)),
        "is no operator",
        lambda: combine(reduce_res=tile(4, 1), reduce_op=nl.add),
    ),
    "registers in use": Check(lambda: clobbering(op0=nl.add), "may have overwritten them", clobbering),
    "power": Check(lambda: combine(op0=nl.power), "in tensor_tensor only", combine),
    "divide": Check(lambda: combine(op1=nl.divide), "multiply by the reciprocal", combine),
}


@pytest.mark.parametrize("name", CHECKS)
def test_refusals(name: str) -> None:
    CHECKS[name].hold()


def test_only_nki_0_7_reduces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NKI_STAND_IN_VERSION", "0.6")
    run(combine)
    with pytest.raises(nisa.NkiValidationError, match=r"new in NKI 0\.7"):
        run(lambda: combine(reduce_op=nl.add))
