"""Largest values and where they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._dtypes import Array, bfloat16, uint16, uint32
from ._errors import refuse
from ._isa_gather import GPSIMD_PARTITIONS
from ._operands import Instruction, fit, only_sbuf, read, read_float32, target, write
from ._tensor import NkiTensor
from ._versions import since

SLOTS = 8
_LEAST, _MOST = 8, 16_384
_RANK = 3
_TOPK_ELEMENTS, _TOPK_RESULTS = 65_536, 32_768
_TOPK_SORTED = 8_192


def max8(dst: Any, src: Any, name: str | None = None) -> Instruction:
    """The 8 largest values of each partition, largest first, to `dst` (P, 8); 8 to 16384 elements each (Vector)."""
    values = _searched(src, "src")
    dst = target(dst)
    _slots(dst, values.shape[0], "dst")
    largest = np.partition(values, values.shape[1] - SLOTS, axis=1)[:, -SLOTS:]
    write(dst, np.sort(largest, axis=1)[:, ::-1])
    return Instruction()


def nc_find_index8(dst: Any, data: Any, vals: Any, name: str | None = None) -> Instruction:
    """Where each of the 8 `vals` (P, 8) first occurs in its partition of `data` (Vector).

    `dst` (P, 8) is uint16 or uint32. Equal values get successive occurrences; a value that does not occur gets all
    ones.
    """
    values = _searched(data, "data")
    wanted = _values(vals, values.shape[0])
    dst = target(dst)
    _index_target(dst, values.shape[0], "dst")
    found, _ = _occurrences(values, wanted, range(SLOTS), dst)
    write(dst, found)
    return Instruction()


def nc_match_replace8(
    dst: Any, data: Any, vals: Any, imm: float, dst_idx: Any = None, name: str | None = None
) -> Instruction:
    """`dst = data` with the first occurrence of each of the 8 `vals` (P, 8) replaced by `imm` (Vector).

    Equal values replace successive occurrences. `dst_idx` (P, 8; uint16 or uint32) receives where they were: of equal
    values the last one gets the first occurrence; all ones where a value does not occur.
    """
    values = _searched(data, "data")
    wanted = _values(vals, values.shape[0])
    dst = target(dst)
    fit(dst, values, "data")
    if isinstance(imm, bool) or not isinstance(imm, (int, float, np.integer, np.floating)):
        refuse(f"{imm!r}, expected a number", "imm")
    indices = None if dst_idx is None else target(dst_idx, "dst_idx")
    if indices is not None:
        _index_target(indices, values.shape[0], "dst_idx")
    found, taken = _occurrences(values, wanted, range(SLOTS - 1, -1, -1), indices)
    write(dst, np.where(taken, np.float32(imm), values).reshape(dst.shape))
    if indices is not None:
        write(indices, found)
    return Instruction()


def topk(val_dst: Any, idx_dst: Any, src: Any, n: int, sorted: bool = False, name: str | None = None) -> Instruction:
    """Per 16 partitions: the k largest of n bf16 elements, smallest first, and their positions (GpSimd). NKI 0.6.

    Element e of a group lies at partition e % 16, column e // 16 of it, and so does result e in `val_dst` (bf16) and
    `idx_dst` (uint32), whose elements per partition are k. Columns from ceil(k / 16) on are not written; what is left
    of the last one before is undefined: NaN, and an index of all ones. `sorted=True` (0.7), at most 8192 results:
    largest first. Source: nki.isa.topk.
    """
    since("0.6", "topk", "use max8 and nc_match_replace8 in turns")
    if sorted is not False:
        since("0.7", "topk(sorted=)", "leave it out: the results are smallest first", "sorted")
        if sorted is not True:
            refuse(f"{sorted!r}, expected True or False", "sorted")
    values = read(src, "src")
    top, where = target(val_dst, "val_dst"), target(idx_dst, "idx_dst")
    for operand, tile, dtype in (("src", src, bfloat16), ("val_dst", top, bfloat16), ("idx_dst", where, uint32)):
        only_sbuf(tile, operand, "GpSimd")
        if tile.dtype != dtype:
            refuse(f"type {tile.dtype}, expected {dtype}", operand)
    partitions, k = values.shape[0], top.size // top.shape[0]
    if partitions % GPSIMD_PARTITIONS or top.shape[0] != partitions or where.shape != top.shape:
        refuse(
            f"src {values.shape}, val_dst {top.shape}, idx_dst {where.shape}: equal numbers of partitions expected, a "
            f"multiple of {GPSIMD_PARTITIONS}, and destinations of one shape",
            "val_dst",
        )
    if not SLOTS <= n < _TOPK_ELEMENTS or values.size // partitions < -(-n // GPSIMD_PARTITIONS):
        refuse(
            f"{n}; {SLOTS} to {_TOPK_ELEMENTS - 1}, and at most 16 x {values.size // partitions} elements of src", "n"
        )
    if not 1 <= k <= min(n, _TOPK_RESULTS - 1):
        refuse(f"{k} elements per partition; the number of results is 1 to n = {n}", "val_dst")
    if sorted and k > _TOPK_SORTED:
        refuse(f"{k} results; at most {_TOPK_SORTED} are sorted", "sorted")
    groups = partitions // GPSIMD_PARTITIONS
    snake = values.reshape(groups, GPSIMD_PARTITIONS, -1).transpose(0, 2, 1).reshape(groups, -1)[:, :n]
    order = np.argsort(snake.astype(np.float32), axis=1, kind="stable")[:, n - k :]
    if sorted:
        order = order[:, ::-1]
    _to_snake(top, np.take_along_axis(snake, order, axis=1), np.nan)
    _to_snake(where, order, np.iinfo(uint32).max)
    return Instruction()


def _to_snake(dst: NkiTensor, results: Array, rest: float) -> None:
    """Result e of a group (row of `results`) to partition e % 16, column e // 16; `rest` to what is left of a column.

    That rest counts as not written.
    """
    array = dst._array.reshape(dst.shape[0], -1)
    groups, count = results.shape
    first = np.arange(groups)[:, None] * GPSIMD_PARTITIONS
    columns, lanes = np.divmod(np.arange(-(-count // GPSIMD_PARTITIONS) * GPSIMD_PARTITIONS), GPSIMD_PARTITIONS)
    array[first + lanes, columns] = rest
    columns, rows = columns[:count], first + lanes[:count]
    array[rows, columns] = results.astype(array.dtype)
    if not np.may_share_memory(array, dst._array):
        dst._array[...] = array.reshape(dst.shape)
    if dst._storage.watched:
        where = np.zeros(array.shape, np.bool_)
        where[rows, columns] = True
        dst._storage.note_write(dst, where.reshape(dst.shape))


def _searched(value: Any, operand: str) -> NDArray[np.float32]:
    values = read_float32(value, operand)
    if values.ndim > _RANK:
        refuse(f"{values.shape} has {values.ndim} dimensions; at most {_RANK}", operand)
    values = values.reshape(values.shape[0], -1)
    if not _LEAST <= values.shape[1] <= _MOST:
        refuse(f"{values.shape[1]} elements per partition; {_LEAST} to {_MOST} expected", operand)
    return values


def _values(vals: Any, partitions: int) -> NDArray[np.float32]:
    wanted = read_float32(vals, "vals")
    if wanted.ndim > _RANK or wanted.shape[0] != partitions or wanted.size != partitions * SLOTS:
        refuse(f"shape {wanted.shape}, expected ({partitions}, {SLOTS})", "vals")
    return wanted.reshape(partitions, SLOTS)


def _slots(dst: NkiTensor, partitions: int, operand: str) -> None:
    if dst.shape != (partitions, SLOTS):
        refuse(f"shape {dst.shape}, expected ({partitions}, {SLOTS})", operand)


def _index_target(dst: NkiTensor, partitions: int, operand: str) -> None:
    _slots(dst, partitions, operand)
    if dst._array.dtype not in (uint16, uint32):
        refuse(f"type {dst.dtype}, expected uint16 or uint32", operand)


def _occurrences(
    values: NDArray[np.float32], wanted: NDArray[np.float32], slots: range, dst: NkiTensor | None
) -> tuple[Array, NDArray[np.bool_]]:
    """Positions [P, 8] of the values, each slot in turn taking the first occurrence that is left; and what is taken."""
    dtype = uint32 if dst is None else dst._array.dtype
    found = np.full(wanted.shape, np.iinfo(dtype).max, dtype)
    taken = np.zeros(values.shape, np.bool_)
    rows = np.arange(values.shape[0])
    for slot in slots:
        equal = (values == wanted[:, slot : slot + 1]) & ~taken
        position = equal.argmax(axis=1)
        present = equal[rows, position]
        found[present, slot] = position[present]
        taken[rows[present], position[present]] = True
    return found, taken
