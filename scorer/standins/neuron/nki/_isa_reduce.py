"""Reductions and statistics over the free dimensions (Vector engine), and over the partitions (GpSimd)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._alu import operator_of, reduction
from ._dtypes import INTEGERS
from ._enums import reduce_cmd
from ._errors import refuse
from ._isa_scalar import accumulate
from ._operands import (
    Instruction,
    as_float32,
    fit,
    only_sbuf,
    read,
    read_float32,
    scalar,
    target,
    write,
)
from ._steps import vector_step

BN_STATS_FREE = 512


def tensor_reduce(
    dst: Any,
    op: Any,
    data: Any,
    axis: int | Sequence[int],
    negate: bool = False,
    keepdims: bool = False,
    name: str | None = None,
) -> Instruction:
    """Reduces `data` over trailing free axes, the last one included; `negate` multiplies the result by -1.

    In fp32 for arithmetic operators; bitvec ones take integers. `dst` has as many elements per partition as are left.
    """
    found = reduction(op, "op")
    dst = target(dst)
    values = (read if found.bitvec is not None else read_float32)(data, "data", _REDUCE_RANK)
    axes = _trailing(axis, values.ndim, data.shape)
    if found.bitvec is not None and (negate or values.dtype not in INTEGERS or values.dtype != dst.dtype):
        refuse(
            f"{found!r} reduces integers to the same type, without negate; found {values.dtype} to {dst.dtype}", "op"
        )
    ufunc = found.binary if found.bitvec is None else found.bitvec
    if len(axes) > 1:
        values = values.reshape(*values.shape[: axes[0]], -1)
    result = ufunc.reduce(values, axis=axes[0])
    if dst.shape[0] != values.shape[0] or dst.size != result.size:
        refuse(f"shape {dst.shape}; data {data.shape} reduced over {axes} leaves {result.shape}", "dst")
    if found.bitvec is None:
        result = as_float32(result)
    write(dst, -result if negate else result)
    return Instruction()


def tensor_partition_reduce(dst: Any, op: Any, data: Any, name: str | None = None) -> Instruction:
    """Reduces `data` over its partitions into one (GpSimd): add, average, maximum, bitwise_or, bitwise_and.

    Slow; for sums a product with a vector of ones is faster.
    """
    found = operator_of(op, "op")
    if found.name not in _PARTITION_REDUCTIONS:
        refuse(f"{op!r}; expected one of nl.{', nl.'.join(_PARTITION_REDUCTIONS)}", "op")
    dst = target(dst, max_rank=_PARTITION_RANK)
    only_sbuf(dst, "dst", "GpSimd")
    values = (read if found.bitvec is not None else read_float32)(data, "data", _PARTITION_RANK)
    only_sbuf(data, "data", "GpSimd")
    free = values.size // values.shape[0]
    if dst.shape[0] != 1 or dst.size != free:
        refuse(f"shape {dst.shape}; data {values.shape} leaves one partition of {free} elements", "dst")
    if found.bitvec is not None:
        if values.dtype not in INTEGERS or values.dtype != dst.dtype:
            refuse(f"{found!r} reduces integers to the same type; found {values.dtype} to {dst.dtype}", "op")
        write(dst, found.bitvec.reduce(values, axis=0))
    elif found.name == "average":
        write(dst, np.add.reduce(values, axis=0) * np.float32(1.0 / values.shape[0]))
    else:
        write(dst, found.binary.reduce(values, axis=0))
    return Instruction()


def tensor_scalar_reduce(
    dst: Any,
    data: Any,
    op0: Any,
    operand0: Any,
    reduce_op: Any,
    reduce_res: Any = None,
    reverse0: bool = False,
    reduce_cmd: Any = reduce_cmd.reset_reduce,
    reduce_init: Any = None,
    reduce_res_negate: bool = False,
    name: str | None = None,
) -> Instruction:
    """`dst = data op0 operand0`, and its sum, product, maximum or minimum over the free dimensions in the registers.

    nl.abs as op0 (operand0=0) with nl.maximum gives the greatest magnitude of each row. `reduce_cmd` chains
    instructions: reset_reduce starts, reduce goes on, load_reduce starts from `reduce_init` (number or (P, 1)).
    """
    first = operator_of(op0, "op0")
    if reverse0:
        refuse("not supported by the hardware", "reverse0")
    reduction(reduce_op, "reduce_op", ("add", "multiply", "maximum", "minimum"))
    if reduce_cmd not in _COMMANDS:
        refuse(f"{reduce_cmd!r}; expected reset_reduce, reduce, load_reduce or reset", "reduce_cmd")
    if (reduce_init is not None) != (reduce_cmd is _LOAD_REDUCE):
        refuse("goes with reduce_cmd=load_reduce, and only with it", "reduce_init")
    dst = target(dst)
    values = read_float32(data, "data")
    fit(dst, values, "data")
    partitions = values.shape[0]
    values = as_float32(vector_step(values, first, operand0))
    write(dst, values)
    initial = None if reduce_init is None else scalar(reduce_init, partitions, 2, "reduce_init")
    registers = dst._storage.core.vector_registers
    accumulate(registers, reduce_cmd, reduce_op, values, reduce_res, initial, reduce_res_negate)
    return Instruction()


def bn_stats(dst: Any, data: Any, name: str | None = None) -> Instruction:
    """Count, mean and variance x count of the even elements, then of the odd ones; up to 512 elements per partition."""
    values = read_float32(data, "data")
    dst = target(dst)
    values = values.reshape(values.shape[0], -1)
    if values.shape[1] > BN_STATS_FREE:
        refuse(f"{data.shape} has {values.shape[1]} elements per partition; the limit is {BN_STATS_FREE}", "data")
    if dst.shape[0] != values.shape[0] or dst.size != 6 * values.shape[0]:
        refuse(f"shape {dst.shape}, expected ({values.shape[0]}, 6)", "dst")
    result = np.zeros((values.shape[0], 6), np.float32)
    for column, part in ((0, values[:, 0::2]), (3, values[:, 1::2])):
        if part.shape[1]:
            mean = part.mean(axis=1, dtype=np.float32, keepdims=True)
            result[:, column] = part.shape[1]
            result[:, column + 1] = mean[:, 0]
            result[:, column + 2] = np.square(part - mean).sum(axis=1)
    write(dst, result)
    return Instruction()


def bn_aggr(dst: Any, data: Any, name: str | None = None) -> Instruction:
    """Merges triples (count, mean, variance x count) per partition into mean and population variance, `dst` (P, 2)."""
    values = read_float32(data, "data")
    dst = target(dst)
    partitions = values.shape[0]
    if values.size // partitions % 3:
        refuse(f"{data.shape} has {values.size // partitions} elements per partition, not a multiple of 3", "data")
    if dst.shape[0] != partitions or dst.size != 2 * partitions:
        refuse(f"shape {dst.shape}, expected ({partitions}, 2)", "dst")
    count, mean, spread = np.moveaxis(values.reshape(partitions, -1, 3), 2, 0)
    total = count.sum(axis=1)
    average = (count * mean).sum(axis=1) / total
    between = (count * np.square(mean - average[:, None])).sum(axis=1)
    write(dst, np.stack([average, (spread.sum(axis=1) + between) / total], axis=1))
    return Instruction()


_PARTITION_REDUCTIONS = ("add", "average", "maximum", "bitwise_or", "bitwise_and")
_PARTITION_RANK = 5
_REDUCE_RANK = 5
_LOAD_REDUCE = reduce_cmd.load_reduce
_COMMANDS = (reduce_cmd.reset, reduce_cmd.reduce, reduce_cmd.reset_reduce, reduce_cmd.load_reduce)


def _trailing(axis: int | Sequence[int], rank: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """`axis` as sorted positive numbers; they must be the last free axes."""
    given = (axis,) if isinstance(axis, (int, np.integer)) else tuple(axis)
    axes = tuple(sorted(item + rank if item < 0 else item for item in given))
    if not axes or 0 in axes or axes != tuple(range(rank - len(axes), rank)):
        refuse(
            f"{axis} of {shape}; only trailing free axes ending at the last one can be reduced ({rank - 1} is the "
            "last, 0 is the partition axis)",
            "axis",
        )
    return axes
