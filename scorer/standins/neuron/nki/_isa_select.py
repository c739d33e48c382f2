"""Selections: masks by position, by range, by predicate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._alu import COMPARISONS, OPERATORS, Operator, operator_of, reduction
from ._dtypes import FLOATS, FP32_MIN, int8, int16, int32, uint8, uint16, uint32
from ._enums import reduce_cmd
from ._errors import refuse
from ._isa_data import affine
from ._isa_scalar import accumulate
from ._operands import (
    Instruction,
    fit,
    not_both_psum,
    only_sbuf,
    read,
    read_float32,
    scalar,
    target,
    write,
)

_PREDICATES = (int8, uint8, int16, uint16)
_IDLE, _RESET_REDUCE = reduce_cmd.idle, reduce_cmd.reset_reduce
_EXACT = 2**24
_COMMANDS = (reduce_cmd.reset, reduce_cmd.reduce, reduce_cmd.reset_reduce)


def affine_select(
    dst: Any,
    pattern: Sequence[Sequence[int]],
    channel_multiplier: int,
    on_true_tile: Any,
    on_false_value: float,
    cmp_op: Any = OPERATORS["equal"],
    offset: int = 0,
    name: str | None = None,
) -> Instruction:
    """`dst = on_true_tile where cmp_op(v, 0) else on_false_value`, v as in iota; SBUF only (GpSimd)."""
    compare = _comparison(cmp_op, "cmp_op")
    dst = target(dst)
    values = read_float32(on_true_tile, "on_true_tile")
    fit(dst, values, "on_true_tile")
    only_sbuf(dst, "dst", "GpSimd")
    only_sbuf(on_true_tile, "on_true_tile", "GpSimd")
    if not isinstance(on_false_value, (int, float, np.integer, np.floating)):
        refuse(f"{on_false_value!r}, expected a number", "on_false_value")
    keep = compare.binary(affine(dst, pattern, offset, channel_multiplier), 0)
    write(dst, np.where(keep, values.reshape(keep.shape), np.float32(on_false_value)))
    return Instruction()


def range_select(
    dst: Any,
    on_true_tile: Any,
    comp_op0: Any,
    comp_op1: Any,
    bound0: Any,
    bound1: Any,
    reduce_cmd: Any = reduce_cmd.reset_reduce,
    reduce_res: Any = None,
    reduce_op: Any = OPERATORS["maximum"],
    range_start: int = 0,
    on_false_value: float = FP32_MIN,
    name: str | None = None,
) -> Instruction:
    """Keeps element j of a partition if `comp_op0(range_start + j, bound0) and comp_op1(range_start + j, bound1)`,
    else the fp32 minimum, whatever `on_false_value` says.

    Bounds are numbers or fp32 tensors (P, 1). The maximum over the free dimensions of this instruction can go to
    `reduce_res`, whatever `reduce_cmd` says; keep that fp32, bf16 turns the fill into -inf. Source:
    nki.isa.range_select, which ignores both parameters.
    """
    compare0, compare1 = _comparison(comp_op0, "comp_op0"), _comparison(comp_op1, "comp_op1")
    for operand, compare in (("comp_op0", compare0), ("comp_op1", compare1)):
        if compare.name == "not_equal":
            refuse(
                "nl.not_equal is no comparison of range_select; equal, less, less_equal, greater, greater_equal",
                operand,
            )
    if reduce_cmd not in (_IDLE, _RESET_REDUCE):
        refuse(
            f"{reduce_cmd!r}; range_select reduces its own elements only, as reset_reduce does: keep the maximum of "
            "each part and combine them with tensor_reduce",
            "reduce_cmd",
        )
    dst = target(dst)
    values = read_float32(on_true_tile, "on_true_tile")
    fit(dst, values, "on_true_tile")
    if on_true_tile.dtype not in FLOATS:
        refuse(f"type {on_true_tile.dtype}, expected floating point", "on_true_tile")
    partitions = values.shape[0]
    values = values.reshape(partitions, -1)
    if not 0 <= range_start <= _EXACT - values.shape[1]:
        refuse(f"{range_start}: positions are compared in fp32, exact below 2^24 = {_EXACT}", "range_start")
    position = np.float32(range_start) + np.arange(values.shape[1], dtype=np.float32)[None, :]
    lower, upper = scalar(bound0, partitions, 2, "bound0"), scalar(bound1, partitions, 2, "bound1")
    result = np.where(compare0.binary(position, lower) & compare1.binary(position, upper), values, np.float32(FP32_MIN))
    write(dst, result)
    _reduce(dst, result, _RESET_REDUCE, reduce_op, reduce_res)
    return Instruction()


def select_reduce(
    dst: Any,
    predicate: Any,
    on_true: Any,
    on_false: Any,
    reduce_res: Any = None,
    reduce_cmd: Any = reduce_cmd.idle,
    reduce_op: Any = OPERATORS["maximum"],
    reverse_pred: bool = False,
    name: str | None = None,
) -> Instruction:
    """`dst = on_true where predicate != 0 else on_false` (a number or fp32 (P, 1)); the maximum can go to `reduce_res`.

    The predicate is an integer tile of 8 or 16 bits; `reverse_pred` swaps the two cases.
    """
    dst = target(dst)
    mask = read(predicate, "predicate")
    fit(dst, mask, "predicate")
    if mask.dtype not in _PREDICATES:
        refuse(f"type {mask.dtype}, expected int8, uint8, int16 or uint16", "predicate")
    values = read_float32(on_true, "on_true")
    if on_true.dtype in (int32, uint32):
        refuse(f"type {on_true.dtype} is not supported", "on_true")
    fit(dst, values, "on_true")
    not_both_psum(on_true, predicate, "on_true, predicate")
    values = values.reshape(dst.shape)
    keep = (mask.reshape(dst.shape) != 0) ^ bool(reverse_pred)
    result = np.where(keep, values, scalar(on_false, values.shape[0], values.ndim, "on_false"))
    write(dst, result)
    _reduce(dst, result, reduce_cmd, reduce_op, reduce_res)
    return Instruction()


def _reduce(dst: Any, values: np.ndarray[Any, Any], command: Any, op: Any, result: Any) -> None:
    """The optional maximum that range_select and select_reduce keep in the Vector engine's registers."""
    registers = dst._storage.core.vector_registers
    if command is _IDLE:
        if result is not None:
            refuse("needs a reduce_cmd, e.g. reset_reduce; idle may overwrite the registers", "reduce_res")
        registers.forget()
        return
    if result is not None and getattr(result, "dtype", None) not in FLOATS:
        refuse(f"type {getattr(result, 'dtype', result)!r}, expected floating point", "reduce_res")
    if command not in _COMMANDS:
        refuse(f"{command!r}; expected idle, reset, reduce or reset_reduce", "reduce_cmd")
    accumulate(registers, command, reduction(op, "reduce_op", ("maximum",)), values, result)


def _comparison(op: Any, operand: str) -> Operator:
    found = operator_of(op, operand)
    if found not in COMPARISONS:
        refuse(f"{found!r} is no comparison; expected one of {', '.join(map(repr, COMPARISONS))}", operand)
    return found
