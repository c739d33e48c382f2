"""The step that instructions share which combine a tile with a scalar: `data op operand`, in fp32."""

from __future__ import annotations

from typing import Any

from ._alu import REMEDIES, Operator
from ._dtypes import Array
from ._errors import refuse
from ._operands import scalar


def step(
    values: Array, op: Operator, operand: Any, reverse: bool, operator: str, scalar_operand: str, out: Array | None
) -> Array:
    """`values op operand` into `out` (may be `values`) or new memory; `operand` is a number or an fp32 tensor (P, 1).

    A unary ALU operator (abs, reciprocal, rsqrt) takes 0 or None. `operator` and `scalar_operand` name the parameters.
    """
    if op.binary is None:
        if op.unary is None and op.name in REMEDIES:
            refuse(f"{op!r} {REMEDIES[op.name]}", operator)
        if op.unary is None or op.trn3:
            why = "needs Trn3 as an ALU operator" if op.trn3 else "is no arithmetic operator of the ALU"
            refuse(f"{op!r} {why}", operator)
        if operand is not None and not (isinstance(operand, (int, float)) and operand == 0):
            refuse(f"{operand!r}; the unary operator {op!r} takes 0 or None", scalar_operand)
        return op.unary(values)
    if op.name == "power":
        refuse(
            "nl.power runs on GpSimd, which takes two tiles; with a scalar it passes the simulator and fails on Trn2: "
            "use tensor_tensor with a filled tile, or activation (square, sqrt, rsqrt, exp of a multiple of log)",
            operator,
        )
    other = scalar(operand, values.shape[0], values.ndim, scalar_operand)
    result: Array = op.binary(other, values, out=out) if reverse else op.binary(values, other, out=out)
    return result


def vector_step(
    values: Array,
    op: Operator,
    operand: Any,
    scalar_operand: str = "operand0",
    reverse: bool = False,
    out: Array | None = None,
) -> Array:
    """The step `op0` of an instruction of the Vector engine alone, which has no rsqrt: that one is GpSimd's."""
    if op.name == "rsqrt":
        refuse("nl.rsqrt is GpSimd's, in tensor_scalar only", "op0")
    return step(values, op, operand, reverse, "op0", scalar_operand, out)
