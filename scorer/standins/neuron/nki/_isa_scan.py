"""Scans: a running value along the free elements (Vector engine)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._alu import operator_of, reduction
from ._dtypes import int32, uint32
from ._enums import reduce_cmd
from ._errors import refuse
from ._isa_scalar import NEUTRAL
from ._operands import Instruction, as_float32, fit, not_both_psum, read_float32, scalar, target, write
from ._steps import vector_step


def tensor_tensor_scan(
    dst: Any,
    data0: Any,
    data1: Any,
    initial: Any,
    op0: Any,
    op1: Any,
    reverse0: bool = False,
    reverse1: bool = False,
    name: str | None = None,
) -> Instruction:
    """`r[i] = (data0[i] op0 r[i-1]) op1 data1[i]` along the free elements, `r[-1] = initial`; not both in PSUM.

    `initial` is a number or a tile (P, 1) of any type: kernels carry the last column of a result over, in its type.
    Source: nki.isa.tensor_tensor_scan.
    """
    first, second = operator_of(op0, "op0"), operator_of(op1, "op1")
    if first.binary is None or second.binary is None:
        refuse(f"{op0!r}, {op1!r}: only arithmetic operators of two operands", "op0, op1")
    dst = target(dst)
    left, right = read_float32(data0, "data0"), read_float32(data1, "data1")
    not_both_psum(data0, data1, "data0, data1")
    fit(dst, left, "data0")
    fit(dst, right, "data1")
    partitions = left.shape[0]
    columns0, columns1 = left.reshape(partitions, -1).T, right.reshape(partitions, -1).T
    running = np.broadcast_to(
        np.asarray(scalar(initial, partitions, 2, "initial", any_type=True)), (partitions, 1)
    ).reshape(-1)
    result = np.empty((partitions, columns0.shape[0]), np.float32)
    for position, (column0, column1) in enumerate(zip(columns0, columns1, strict=True)):
        inner = first.binary(running, column0) if reverse0 else first.binary(column0, running)
        inner = as_float32(inner)
        running = as_float32(second.binary(column1, inner) if reverse1 else second.binary(inner, column1))
        result[:, position] = running
    write(dst, result)
    return Instruction()


def tensor_scalar_cumulative(
    dst: Any,
    src: Any,
    op0: Any,
    op1: Any,
    imm0: Any,
    imm1: Any = None,
    reduce_cmd: Any = reduce_cmd.reset_reduce,
    name: str | None = None,
) -> Instruction:
    """`r[i] = (src[i] op0 imm0) op1 r[i-1]` along the free elements; op1 is add, subtract, multiply, maximum, minimum.

    `r[-1]` is the neutral value of op1 (reset_reduce), what the registers hold (reduce) or `imm1` (load_reduce). imm0
    and imm1 are numbers or fp32 tensors (P, 1). No 32-bit integers.
    """
    first = operator_of(op0, "op0")
    second = reduction(op1, "op1", _CUMULATIVE)
    if reduce_cmd not in _COMMANDS:
        refuse(f"{reduce_cmd!r}; expected reset_reduce, reduce or load_reduce", "reduce_cmd")
    if (imm1 is not None) != (reduce_cmd is _LOAD_REDUCE):
        refuse("goes with reduce_cmd=load_reduce, and only with it", "imm1")
    dst = target(dst)
    values = read_float32(src, "src")
    fit(dst, values, "src")
    for operand, dtype in (("src", src.dtype), ("dst", dst.dtype)):
        if dtype in (int32, uint32):
            refuse(f"type {dtype}; the instruction has no 32-bit integers", operand)
    partitions = values.shape[0]
    flat = values.reshape(partitions, -1)
    flat = as_float32(vector_step(flat, first, imm0, "imm0"))
    registers = dst._storage.core.vector_registers
    start = np.full((partitions, 1), _NEUTRAL[second.name], np.float32)
    if reduce_cmd is _REDUCE:
        registers.combine(start, second)
        start = registers.read(partitions)
    elif reduce_cmd is _LOAD_REDUCE:
        start[...] = scalar(imm1, partitions, 2, "imm1")
    if second.name == "subtract":
        result = np.empty_like(flat)
        running = start[:, 0]
        for position, column in enumerate(flat.T):
            running = column - running
            result[:, position] = running
    else:
        result = second.binary.accumulate(np.concatenate([start, flat], axis=1), axis=1)[:, 1:]
    registers.start(partitions, result[:, -1:], second)
    write(dst, result.reshape(dst.shape))
    return Instruction()


_CUMULATIVE = ("add", "subtract", "multiply", "maximum", "minimum")
_NEUTRAL = {**NEUTRAL, "subtract": 0.0}
_REDUCE, _LOAD_REDUCE = reduce_cmd.reduce, reduce_cmd.load_reduce
_COMMANDS = (reduce_cmd.reset_reduce, reduce_cmd.reduce, reduce_cmd.load_reduce)
