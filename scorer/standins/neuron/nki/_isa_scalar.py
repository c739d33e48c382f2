"""Scalar engine: activation functions, with an optional sum over the free dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._alu import activate, operator_of, reduction
from ._core import Accumulators
from ._enums import choose, engine, reduce_cmd
from ._errors import refuse
from ._operands import Instruction, finish, fit, place, read_float32, scalar, target, write
from ._tensor import NkiTensor
from ._versions import since


def activation(
    dst: Any,
    op: Any,
    data: Any,
    bias: Any = None,
    scale: Any = 1.0,
    reduce_op: Any = None,
    reduce_res: Any = None,
    reduce_cmd: Any = reduce_cmd.idle,
    engine: Any = engine.scalar,
    name: str | None = None,
) -> Instruction:
    """`dst = op(data * scale + bias)`; scale and bias are numbers or tensors (P, 1), scale fp32, bias of any type.

    `reduce_op=nl.add` sums the fp32 results over the free dimensions into the engine's registers as `reduce_cmd` says;
    `reduce_res` (P, 1) receives the registers.
    """
    found = operator_of(op, "op")
    if engine is not _SCALAR:
        since("0.7", "engine", "leave it out: activation runs on the Scalar engine", "engine")
        choose(engine, (_SCALAR,))
    values = read_float32(data, "data")
    dst = target(dst)
    fit(dst, values, "data")
    spare = values is not data._array
    if type(scale) is not float or scale != 1.0:
        factor = scalar(scale, values.shape[0], values.ndim, "scale")
        values, spare = np.multiply(values, factor, out=values if spare else None), True
    if bias is not None and (type(bias) is not float or bias != 0.0):
        shift = scalar(bias, values.shape[0], values.ndim, "bias", any_type=True)
        values, spare = np.add(values, shift, out=values if spare else None), True
    result = activate(found, values, place(dst, values, spare))
    finish(dst, result)
    registers = dst._storage.core.scalar_registers
    if reduce_cmd is _IDLE:
        if reduce_res is not None or reduce_op is not None:
            refuse("a reduction needs a reduce_cmd, e.g. reset_reduce; idle may overwrite the registers", "reduce_cmd")
        registers.forget()
    else:
        if reduce_cmd not in _SCALAR_COMMANDS:
            refuse(f"{reduce_cmd!r}; expected idle, reset, reduce or reset_reduce", "reduce_cmd")
        reduction(reduce_op, "reduce_op", ("add",))
        accumulate(registers, reduce_cmd, reduce_op, result, reduce_res)
    return Instruction()


def activation_reduce(
    dst: Any,
    op: Any,
    data: Any,
    reduce_op: Any,
    reduce_res: Any,
    bias: Any = None,
    scale: Any = 1.0,
    name: str | None = None,
) -> Instruction:
    """`activation` with `reduce_cmd=reset_reduce`: the sum goes to `reduce_res`."""
    if reduce_res is None:
        refuse("expected a tensor (P, 1)", "reduce_res")
    return activation(dst, op, data, bias, scale, reduce_op, reduce_res, _RESET_REDUCE)


def accumulate(
    registers: Accumulators,
    command: reduce_cmd,
    op: Any,
    values: NDArray[np.float32],
    result: Any,
    initial: Any = None,
    negate: bool = False,
) -> None:
    """Reduces `values` over their free dimensions into the registers, then reads them into `result` (P, 1)."""
    partitions = values.shape[0]
    if command is _RESET:
        registers.start(partitions, NEUTRAL[op.name], op)
    else:
        row = op.binary.reduce(values.reshape(partitions, -1), axis=1, keepdims=True)
        if command is _LOAD_REDUCE:
            registers.start(partitions, initial, op)
        if command is _RESET_REDUCE:
            registers.start(partitions, row, op)
        else:
            registers.combine(row, op)
    if result is not None:
        found = registers.read(partitions)
        write(register_target(result, partitions), -found if negate else found)


def register_target(result: Any, partitions: int) -> NkiTensor:
    """`reduce_res` as a destination of shape (P, 1)."""
    found = target(result, "reduce_res")
    if found.size != partitions or found.shape[0] != partitions:
        refuse(f"expected ({partitions}, 1), one value per partition, found {found.shape}", "reduce_res")
    return found


_SCALAR = engine.scalar
NEUTRAL = {"add": 0.0, "multiply": 1.0, "maximum": float("-inf"), "minimum": float("inf")}
_IDLE, _RESET, _RESET_REDUCE, _LOAD_REDUCE = (
    reduce_cmd.idle,
    reduce_cmd.reset,
    reduce_cmd.reset_reduce,
    reduce_cmd.load_reduce,
)
_SCALAR_COMMANDS = (reduce_cmd.reset, reduce_cmd.reduce, reduce_cmd.reset_reduce)
