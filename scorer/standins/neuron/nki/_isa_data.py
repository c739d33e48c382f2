"""Data movement on chip: copies and constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._dtypes import FLOATS, INTEGERS, assign, float32, saturate, to_float32
from ._enums import choose, engine
from ._errors import ints, refuse
from ._operands import Instruction, fit, moved, note_moved, only_sbuf, read, settled, target, write
from ._storage import Buffer
from ._tensor import NkiTensor

_INT32_MIN, _INT32_MAX = -(2**31), 2**31 - 1
_MEMSET_RANK = 5
_PATTERN_RANK = 4


def tensor_copy(dst: Any, src: Any, engine: Any = engine.unknown, name: str | None = None) -> Instruction:
    """Copies on chip, same partitions and elements per partition.

    The bits if the types are equal; else, and integers on the Scalar engine, through fp32.
    """
    source, known = moved(src, "src")
    dst = target(dst)
    fit(dst, source, "src")
    chosen = engine if engine is _UNKNOWN else choose(engine, _COPY_ENGINES)
    if chosen is _GPSIMD:
        only_sbuf(src, "src", "GpSimd")
        only_sbuf(dst, "dst", "GpSimd")
    if src._storage is dst._storage:
        _check_overlap(src, dst)
    bits = source.dtype == dst._array.dtype and not (chosen is _SCALAR and source.dtype in INTEGERS)
    write(dst, source if bits else to_float32(settled(source, known), "src"), known)
    return Instruction()


def tensor_copy_predicated(
    dst: Any, src: Any, predicate: Any, reverse_pred: bool = False, name: str | None = None
) -> Instruction:
    """Where `predicate` (uint8, 16 or 32) is not 0, copies `src` (a tile of dst's type, or a number); elsewhere dst
    stays.

    `reverse_pred` copies where it is 0.
    """
    dst = target(dst)
    array = dst._array
    mask = read(predicate, "predicate")
    fit(dst, mask, "predicate")
    if mask.dtype not in (np.uint8, np.uint16, np.uint32):
        refuse(f"type {mask.dtype}, expected uint8, uint16 or uint32", "predicate")
    where = (mask.reshape(array.shape) != 0) ^ bool(reverse_pred)
    if isinstance(src, NkiTensor):
        source, known = moved(src, "src")
        fit(dst, source, "src")
        if source.dtype != array.dtype:
            refuse(f"type {source.dtype}, dst has {array.dtype}; a predicated copy does not convert", "src")
        if src._storage.buffer is Buffer.psum and predicate._storage.buffer is Buffer.psum:
            refuse("src and predicate both lie in PSUM", "src, predicate")
        np.copyto(array, source.reshape(array.shape), where=where)
    else:
        known = None
        np.copyto(array, _constant(src, dst, "src"), where=where)
    note_moved(dst, known, where)
    return Instruction()


def memset(dst: Any, value: Any, engine: Any = engine.unknown, name: str | None = None) -> Instruction:
    """Fills `dst` with a compile-time constant: a number for float types, an int that fits for integer types."""
    dst = target(dst, max_rank=_MEMSET_RANK)
    storage = dst._storage
    if engine is not _UNKNOWN and choose(engine, _MEMSET_ENGINES) is _GPSIMD:
        only_sbuf(dst, "dst", "GpSimd")
    dst._array[...] = _constant(value, dst, "value")
    if storage.watched:
        storage.note_write(dst)
    return Instruction()


def iota(
    dst: Any, pattern: Sequence[Sequence[int]], offset: int = 0, channel_multiplier: int = 0, name: str | None = None
) -> Instruction:
    """`dst[p, i, j, ...] = offset + p * channel_multiplier + i * step0 + j * step1 + ...` in int32, then cast.

    `pattern` is `[[step, count], ...]`, outermost first, at most four; the product of the counts is the elements per
    partition.
    """
    dst = target(dst)
    if dst._storage.buffer is not Buffer.sbuf:
        refuse(f"lies in {dst.buffer!r}; iota writes SBUF", "dst")
    values = affine(dst, pattern, offset, channel_multiplier)
    if dst._array.dtype == np.int32:
        write(dst, values)
    elif dst._array.dtype in INTEGERS:
        write(dst, saturate(values, dst._array.dtype))
    else:
        write(dst, to_float32(values, "dst"))
    return Instruction()


def affine(
    dst: NkiTensor, pattern: Sequence[Sequence[int]], offset: int, channel_multiplier: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    """The int32 values [P, F] of an affine pattern over the elements of `dst`."""
    partitions = dst._array.shape[0]
    for pair in pattern:
        ints(pair, "pattern")
    ints((offset,), "offset")
    ints((channel_multiplier,), "channel_multiplier")
    if not 1 <= len(pattern) <= _PATTERN_RANK or any(count < 1 for _, count in pattern):
        refuse(f"{list(pattern)}: 1 to {_PATTERN_RANK} pairs [step, count] with positive counts expected", "pattern")
    row = np.array([offset], np.int64)
    for step, count in pattern:
        row = (row[:, None] + step * np.arange(count)).reshape(-1)
    free = dst._array.size // partitions
    if row.size != free:
        refuse(
            f"counts of {list(pattern)} make {row.size} elements per partition, the tile {dst.shape} has {free}",
            "pattern",
        )
    column = channel_multiplier * np.arange(partitions)
    low, high = row.min() + column.min(), row.max() + column.max()
    if low < _INT32_MIN or high > _INT32_MAX:
        refuse(f"values reach {low} .. {high}, outside int32", "pattern")
    return column.astype(np.int32)[:, None] + row.astype(np.int32)[None, :]


_UNKNOWN, _GPSIMD, _SCALAR = engine.unknown, engine.gpsimd, engine.scalar
_COPY_ENGINES = (engine.vector, engine.scalar, engine.gpsimd)
_MEMSET_ENGINES = (engine.vector, engine.gpsimd)


def _check_overlap(src: NkiTensor, dst: NkiTensor) -> None:
    """Refuses a copy within a tile whose sides overlap but differ: the engine reads ahead of what it writes."""
    if (src._offset, src.shape, src.strides) != (dst._offset, dst.shape, dst.strides) and np.shares_memory(
        src._array, dst._array
    ):
        refuse(
            f"{src.get_pattern()} at {src.offset} overlaps dst {dst.get_pattern()} at {dst.offset} of the same tile; "
            "the result depends on how far the engine reads ahead: copy through another tile",
            "src",
        )


def _constant(value: Any, dst: NkiTensor, operand: str) -> Any:
    """A compile-time constant in the type of `dst`."""
    dtype = dst._array.dtype
    if isinstance(value, (bool, np.bool_)):
        number: Any = int(value) if dtype not in FLOATS else None
    elif dtype in FLOATS:
        number = float(value) if isinstance(value, (int, float, np.integer, np.floating)) else None
    else:
        number = int(value) if isinstance(value, (int, np.integer)) else None
    if number is None:
        refuse(f"{value!r} does not fit {dtype}: float types take a number, integer types an int", operand)
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        if not limits.min <= number <= limits.max:
            refuse(f"{value!r} lies outside {dtype}", operand)
        return number
    converted = np.empty((), dtype)
    assign(converted, np.asarray(number, float32), nearest=True)
    return converted[()]
