"""Vector and GpSimd engines, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._alu import REMEDIES, Operator, operator_of, reduction
from ._dtypes import INTEGERS, Array, int32, uint32
from ._enums import choose, engine, reduce_cmd
from ._errors import refuse
from ._isa_scalar import accumulate
from ._operands import (
    Instruction,
    as_float32,
    finish,
    fit,
    not_both_psum,
    only_sbuf,
    place,
    read,
    read_float32,
    target,
    write,
)
from ._steps import step, vector_step
from ._storage import Buffer
from ._tensor import NkiTensor
from ._versions import since


def tensor_tensor(
    dst: Any, data1: Any, data2: Any, op: Any, engine: Any = engine.unknown, name: str | None = None
) -> Instruction:
    """`dst = data1 op data2`, two tiles with the same partitions and elements per partition, not both in PSUM.

    fp32 arithmetic; int32/uint32 throughout is computed exactly (GpSimd) unless an operand lies in PSUM or the Vector
    engine is asked for.
    """
    found = operator_of(op, "op")
    dst = target(dst)
    if found.bitvec is not None:
        return _bitwise(dst, data1, data2, found, engine)
    if found.binary is None:
        refuse(f"{op!r} {REMEDIES.get(found.name, 'takes no two tiles')}", "op")
    if engine is not _UNKNOWN:
        choose(engine, _ALU_ENGINES)
    if _exact(dst, data1, data2, found, engine):
        return Instruction()
    left, right = read_float32(data1, "data1"), read_float32(data2, "data2")
    not_both_psum(data1, data2, "data1, data2")
    fit(dst, left, "data1")
    fit(dst, right, "data2")
    if found.name == "power" or engine is _GPSIMD:
        for operand, value in (("dst", dst), ("data1", data1), ("data2", data2)):
            only_sbuf(value, operand, "GpSimd")
    spare = left is not data1._array
    if left.shape != right.shape:
        left, right = left.reshape(dst.shape), right.reshape(dst.shape)
    finish(dst, found.binary(left, right, out=place(dst, left, spare)))
    return Instruction()


def tensor_scalar(
    dst: Any,
    data: Any,
    op0: Any,
    operand0: Any,
    reverse0: bool = False,
    op1: Any = None,
    operand1: Any = None,
    reverse1: bool = False,
    engine: Any = engine.unknown,
    name: str | None = None,
) -> Instruction:
    """`dst = (data op0 operand0) op1 operand1`; operands are numbers or fp32 tensors (P, 1); reverseN swaps sides.

    In fp32, rounded once. Bitvec operators take integers, all of them or none. `nl.rsqrt` as op0 is the precise one of
    GpSimd.
    """
    first = operator_of(op0, "op0")
    second = None if op1 is None else operator_of(op1, "op1")
    dst = target(dst)
    if first.bitvec is not None or (second is not None and second.bitvec is not None):
        return _bitwise_scalar(dst, data, first, operand0, reverse0, second, operand1, reverse1)
    values = read_float32(data, "data")
    fit(dst, values, "data")
    if engine is not _UNKNOWN:
        _check_scalar_engine(engine, first, second, dst, data)
    spare = values is not data._array
    if second is not None:
        values = as_float32(step(values, first, operand0, reverse0, "op0", "operand0", values if spare else None))
        result = step(values, second, operand1, reverse1, "op1", "operand1", place(dst, values, True))
    elif operand1 is not None:
        refuse("given without op1", "operand1")
    else:
        result = step(values, first, operand0, reverse0, "op0", "operand0", place(dst, values, spare))
    finish(dst, result)
    return Instruction()


def scalar_tensor_tensor(
    dst: Any,
    data: Any,
    op0: Any,
    operand0: Any,
    op1: Any,
    operand1: Any,
    reverse0: bool = False,
    reverse1: bool = False,
    reduce_cmd: Any = reduce_cmd.reset_reduce,
    reduce_op: Any = None,
    reduce_res: Any = None,
    name: str | None = None,
) -> Instruction:
    """`dst = (data op0 operand0) op1 operand1`; operand0 is a number or an fp32 tensor (P, 1), operand1 a tile.

    NKI 0.7: `reduce_op` (add, multiply, maximum, minimum) reduces the result over the free dimensions into the Vector
    engine's registers as `reduce_cmd` says, and `reduce_res` (P, 1) receives them.
    """
    first, second = operator_of(op0, "op0"), operator_of(op1, "op1")
    if second.binary is None:
        refuse(f"{op1!r} {REMEDIES.get(second.name, 'is no arithmetic operator of two operands')}", "op1")
    if "power" in (first.name, second.name):
        refuse("nl.power runs on GpSimd, in tensor_tensor only", "op0, op1")
    dst = target(dst)
    values, tile = read_float32(data, "data"), read_float32(operand1, "operand1")
    not_both_psum(data, operand1, "data, operand1")
    fit(dst, values, "data")
    fit(dst, tile, "operand1")
    spare = None if values is data._array else values
    values = as_float32(vector_step(values, first, operand0, reverse=reverse0, out=spare))
    if values.shape != tile.shape:
        values, tile = values.reshape(dst.shape), tile.reshape(dst.shape)
    left, right = (tile, values) if reverse1 else (values, tile)
    result = second.binary(left, right, out=place(dst, values, True))
    finish(dst, result)
    registers = dst._storage.core.vector_registers
    if reduce_op is None and reduce_res is None and reduce_cmd in _NO_REDUCTION:
        registers.forget()
    else:
        since("0.7", "reducing in scalar_tensor_tensor", "use tensor_reduce on the result", "reduce_cmd")
        if reduce_cmd not in _REDUCE_COMMANDS:
            refuse(f"{reduce_cmd!r}; expected reset_reduce, reduce or reset", "reduce_cmd")
        reduction(reduce_op, "reduce_op", ("add", "multiply", "maximum", "minimum"))
        accumulate(registers, reduce_cmd, reduce_op, as_float32(result), reduce_res)
    return Instruction()


def reciprocal(dst: Any, data: Any, name: str | None = None) -> Instruction:
    """`dst = 1 / data` on the Vector engine: precise, over all reals."""
    values = read_float32(data, "data")
    dst = target(dst)
    fit(dst, values, "data")
    write(dst, np.reciprocal(values))
    return Instruction()


_NO_REDUCTION = (reduce_cmd.reset_reduce, reduce_cmd.idle)
_REDUCE_COMMANDS = (reduce_cmd.reset_reduce, reduce_cmd.reduce, reduce_cmd.reset)
_UNKNOWN, _SCALAR, _VECTOR, _GPSIMD = engine.unknown, engine.scalar, engine.vector, engine.gpsimd
_ALU_ENGINES = (engine.vector, engine.gpsimd)
_SCALAR_ENGINE_OPERATORS = {("multiply", "add"), ("multiply", None), ("add", None)}


def _exact(dst: NkiTensor, data1: Any, data2: Any, op: Operator, by: Any) -> bool:
    """Runs int32/uint32 arithmetic exactly, wrapping at 32 bits, if GpSimd does it; says whether it did."""
    tiles = (dst, data1, data2)
    if by is _VECTOR or not all(
        isinstance(tile, NkiTensor) and tile._array.dtype in (int32, uint32) and tile._storage.buffer is Buffer.sbuf
        for tile in tiles
    ):
        return False
    left, right = read(data1, "data1"), read(data2, "data2")
    fit(dst, left, "data1")
    fit(dst, right, "data2")
    if op.name == "power" and right.min() < 0:
        refuse(f"negative exponent {right.min()} of an integer power; use fp32 tiles", "data2")
    result = np.asarray(op.binary(left.reshape(dst.shape).astype(np.int64), right.reshape(dst.shape).astype(np.int64)))
    write(dst, result.astype(np.int64).astype(dst._array.dtype))
    return True


def _check_scalar_engine(by: Any, first: Operator, second: Operator | None, dst: NkiTensor, data: NkiTensor) -> None:
    chosen = choose(by, (_VECTOR, _GPSIMD, _SCALAR))
    pair = (first.name, None if second is None else second.name)
    if chosen is _SCALAR and pair not in _SCALAR_ENGINE_OPERATORS:
        refuse(f"the Scalar engine of Trn2 does multiply + add, multiply, or add; found {pair}", "engine")
    if chosen is _GPSIMD:
        if first.name != "rsqrt":
            refuse(f"GpSimd does only nl.rsqrt here, found {first!r}", "engine")
        only_sbuf(dst, "dst", "GpSimd")
        only_sbuf(data, "data", "GpSimd")


def _bitwise(dst: NkiTensor, data1: Any, data2: Any, op: Operator, by: Any) -> Instruction:
    left, right = read(data1, "data1"), read(data2, "data2")
    not_both_psum(data1, data2, "data1, data2")
    if op.name == "invert":
        refuse(f"{op!r} takes no two tiles", "op")
    if by is not _UNKNOWN:
        choose(by, (_VECTOR,))
    for operand, array in (("data1", left), ("data2", right), ("dst", dst._array)):
        _integer(array, op, operand)
        fit(dst, array, operand)
    if left.dtype != right.dtype or left.dtype != dst._array.dtype:
        refuse(f"types {left.dtype}, {right.dtype} and {dst.dtype} (dst); bitvec operators do not convert", "data2")
    write(dst, op.bitvec(left.reshape(dst.shape), right.reshape(dst.shape)))
    return Instruction()


def _bitwise_scalar(
    dst: NkiTensor,
    data: Any,
    first: Operator,
    operand0: Any,
    reverse0: bool,
    second: Operator | None,
    operand1: Any,
    reverse1: bool,
) -> Instruction:
    values = read(data, "data")
    fit(dst, values, "data")
    _integer(values, first, "data")
    if values.dtype != dst._array.dtype:
        refuse(f"type {dst.dtype}, data has {values.dtype}; bitvec operators do not convert", "dst")
    for which, op, operand, reverse in (("0", first, operand0, reverse0), ("1", second, operand1, reverse1)):
        if op is None:
            continue
        if op.bitvec is None:
            refuse(
                f"{first!r} with {second!r}: bitvec and arithmetic operators cannot be mixed in one instruction",
                f"op{which}",
            )
        if op.name == "invert":
            values = op.bitvec(values)
            continue
        other = _integer_operand(operand, values, op, f"operand{which}")
        values = op.bitvec(other, values) if reverse else op.bitvec(values, other)
    write(dst, values)
    return Instruction()


def _integer(array: Array, op: Operator, operand: str) -> None:
    if array.dtype not in INTEGERS:
        refuse(f"type {array.dtype}; the bitvec operator {op!r} takes integers", operand)


def _integer_operand(value: Any, like: Array, op: Operator, operand: str) -> Any:
    if isinstance(value, NkiTensor):
        array = read(value, operand)
        _integer(array, op, operand)
        if array.shape[0] != like.shape[0] or array.size != like.shape[0]:
            refuse(f"expected ({like.shape[0]}, 1), found {array.shape}", operand)
        return array.reshape((-1,) + (1,) * (like.ndim - 1)).astype(like.dtype)
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        refuse(f"{value!r}; the bitvec operator {op!r} takes an int", operand)
    limits = np.iinfo(like.dtype)
    if not limits.min <= value <= limits.max:
        refuse(f"{value} lies outside {like.dtype}", operand)
    return like.dtype.type(value)
