"""Moving data between and within partitions: shuffles, gathers, positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._dtypes import Array, float32, int32, uint16, uint32
from ._errors import NkiValidationError, refuse
from ._operands import Instruction, fit, moved, note_moved, only_sbuf, read, target, view, write
from ._tensor import QUADRANT, NkiTensor

GPSIMD_PARTITIONS = 16  # each of GpSimd's eight processors reaches so many
_UNCHANGED = 255
_LOCAL_INDICES = 4096
_UNITS = (1, 2, 4, 8, 16, 32)
_STARTS = {32: (0, 32, 64, 96), 64: (0, 64), 96: (0,), 128: (0,)}


def nc_stream_shuffle(dst: Any, src: Any, shuffle_mask: Sequence[int], name: str | None = None) -> Instruction:
    """Within each quadrant of 32 partitions, partition i of `dst` = partition `shuffle_mask[i]` of `src` (Vector).

    32 entries for all quadrants; 255 leaves a partition as it is. Same type, same elements per partition. `dst` may be
    `src`. Both start at partition 0 (96 or 128 active partitions), 0 or 64 (64), or any quadrant (32).
    """
    dst, src = target(dst), view(src, "src")
    source, array = src._array, dst._array
    if array.dtype != source.dtype:
        refuse(f"type {source.dtype}, dst has {array.dtype}; a shuffle does not convert", "src")
    if source.size // source.shape[0] != array.size // array.shape[0]:
        refuse(f"{source.shape} and dst {array.shape} differ in elements per partition", "src")
    mask = np.asarray(list(shuffle_mask))
    if mask.shape != (QUADRANT,) or mask.dtype.kind not in "iu" or not np.all((mask >= 0) & (mask <= _UNCHANGED)):
        refuse(f"{list(shuffle_mask)}: {QUADRANT} ints expected, each 0 to 31, or 255 for unchanged", "shuffle_mask")
    if np.any((mask >= QUADRANT) & (mask != _UNCHANGED)):
        refuse(f"{mask.max()} names no partition of a quadrant; 0 to 31, or 255 for unchanged", "shuffle_mask")
    active = -(-max(source.shape[0], array.shape[0]) // QUADRANT) * QUADRANT
    for operand, value in (("src", src), ("dst", dst)):
        start = value._offset // value._storage.partition_bytes
        if start not in _STARTS[active]:
            refuse(f"starts at partition {start}; with {active} active partitions one of {_STARTS[active]}", operand)
    rows = np.arange(array.shape[0])
    chosen = mask[rows % QUADRANT]
    rows = rows[chosen != _UNCHANGED]
    chosen = rows // QUADRANT * QUADRANT + mask[rows % QUADRANT]
    if rows.size and chosen.max() >= source.shape[0]:
        refuse(f"partition {chosen.max()} is read, src {source.shape} has {source.shape[0]}", "shuffle_mask")
    known = src._storage.note_move(src, "src") if src._storage.watched else None
    array[rows] = source[chosen].reshape(rows.size, *array.shape[1:])
    if known is not None:
        made = np.ones(array.shape, np.bool_)
        made[rows] = known[chosen].reshape(rows.size, *array.shape[1:])
        known = made
    note_moved(dst, known, _rows(array, rows))
    return Instruction()


def local_gather(
    dst: Any,
    src_buffer: Any,
    index: Any,
    num_elem_per_idx: int = 1,
    num_valid_indices: int | None = None,
    name: str | None = None,
) -> Instruction:
    """Per 16 partitions: takes `num_elem_per_idx` elements of each partition at every index of the group (GpSimd).

    `index` (uint16) has the partitions of `src_buffer`; a group's indices, partitions first, are positions of elements
    among those of a partition; the first `num_valid_indices` count (default: all). `dst` holds, in every partition, the
    elements at index 0, then at index 1, ...; same type as `src_buffer`.
    """
    dst = target(dst)
    indices = read(index, "index")
    values, known = moved(src_buffer, "src_buffer")
    partitions = values.shape[0]
    if indices.dtype != uint16:
        refuse(f"type {indices.dtype}, expected uint16", "index")
    _same_type(dst, values, "src_buffer")
    for operand, tile in (("dst", dst), ("src_buffer", src_buffer), ("index", index)):
        only_sbuf(tile, operand, "GpSimd")
    if partitions % GPSIMD_PARTITIONS or indices.shape[0] != partitions or dst.shape[0] != partitions:
        refuse(
            f"{indices.shape} for src_buffer {values.shape} and dst {dst.shape}: equal numbers of partitions expected, "
            f"a multiple of {GPSIMD_PARTITIONS}",
            "index",
        )
    if num_elem_per_idx not in _UNITS:
        refuse(f"{num_elem_per_idx!r}, expected one of {_UNITS}", "num_elem_per_idx")
    available = indices.size // partitions * GPSIMD_PARTITIONS
    valid = available if num_valid_indices is None else num_valid_indices
    if not 1 <= valid <= min(available, _LOCAL_INDICES):
        refuse(
            f"{valid} indices for 16 partitions; index {indices.shape} holds {available}, the limit is "
            f"{_LOCAL_INDICES}",
            "num_valid_indices",
        )
    if dst.size != partitions * valid * num_elem_per_idx:
        refuse(f"shape {dst.shape}; {valid} indices x {num_elem_per_idx} elements per partition are gathered", "dst")
    groups = partitions // GPSIMD_PARTITIONS
    flat = indices.reshape(groups, GPSIMD_PARTITIONS, -1).transpose(0, 2, 1).reshape(groups, -1)[:, :valid]
    positions = flat.astype(np.intp)[:, :, None] + np.arange(num_elem_per_idx)
    _inside(positions, values.size // partitions, "index")
    places = positions.reshape(groups, 1, -1)

    def picked(source: Array) -> Array:
        return np.take_along_axis(source.reshape(groups, GPSIMD_PARTITIONS, -1), places, axis=2).reshape(dst.shape)

    write(dst, picked(values), None if known is None else picked(known))
    return Instruction()


def nc_n_gather(dst: Any, data: Any, indices: Any, name: str | None = None) -> Instruction:
    """`dst[p, i] = data[p].flat[indices[p, i]]`, within each partition; indices uint32, all in SBUF (GpSimd)."""
    dst = target(dst)
    positions, (values, known) = read(indices, "indices"), moved(data, "data")
    if positions.dtype != uint32:
        refuse(f"type {positions.dtype}, expected uint32", "indices")
    _same_type(dst, values, "data")
    fit(dst, positions, "indices")
    for operand, tile in (("dst", dst), ("data", data), ("indices", indices)):
        only_sbuf(tile, operand, "GpSimd")
    partitions = positions.shape[0]
    if values.shape[0] != partitions:
        refuse(f"{values.shape} has {values.shape[0]} partitions, indices {positions.shape} {partitions}", "data")
    _inside(positions, values.size // partitions, "indices")
    places = positions.reshape(partitions, -1).astype(np.intp)

    def picked(source: Array) -> Array:
        return np.take_along_axis(source.reshape(partitions, -1), places, axis=1).reshape(dst.shape)

    write(dst, picked(values), None if known is None else picked(known))
    return Instruction()


def nonzero_with_count(
    dst: Any, src: Any, index_offset: int = 0, padding_val: int = -1, name: str | None = None
) -> Instruction:
    """On partitions 0, 16, 32, ...: the positions of the non-zero elements, padding, and their count (GpSimd).

    `src` fp32 or int32, `dst` int32 with one element more per partition; other partitions are neither read nor
    written. `index_offset` is added to the positions. A partition of `src` that was never written leaves its partition
    of `dst` so: the instruction has no way to leave one out.
    """
    dst, src = target(dst), view(src, "src")
    values = src._array
    only_sbuf(src, "src", "GpSimd")
    only_sbuf(dst, "dst", "GpSimd")
    if values.dtype not in (float32, int32):
        refuse(f"type {values.dtype}, expected float32 or int32", "src")
    if dst._array.dtype != int32:
        refuse(f"type {dst.dtype}, expected int32", "dst")
    partitions, free = values.shape[0], values.size // values.shape[0]
    if dst.shape[0] != partitions or dst.size != partitions * (free + 1):
        refuse(f"shape {dst.shape}; src {values.shape} needs {partitions} x {free + 1}", "dst")
    for operand, number in (("index_offset", index_offset), ("padding_val", padding_val)):
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or abs(number) >= 2**31:
            refuse(f"{number!r}, expected an int32", operand)
    rows = np.array([row for row in range(0, partitions, GPSIMD_PARTITIONS) if _is_written(src, row)], np.intp)
    if not rows.size:
        refuse("uninitialised read: none of partitions 0, 16, 32, ... was written", "src")
    result = np.full((rows.size, free + 1), padding_val, np.int32)
    for position, row in enumerate(rows):
        found = np.flatnonzero(values[row])
        result[position, : found.size] = found + index_offset
        result[position, -1] = found.size
    array = dst._array
    array[rows] = result.reshape(rows.size, *array.shape[1:])
    if dst._storage.watched:
        dst._storage.note_write(dst, _rows(array, rows))
    return Instruction()


def sequence_bounds(dst: Any, segment_ids: Any, name: str | None = None) -> Instruction:
    """For each element of `segment_ids` (1, n): where its run of equal ids starts, and where it ends (exclusive).

    `dst` (1, 2, n): starts, then ends; an id of 0 is padding and gives n and -1. Both fp32 or int32 (GpSimd).
    """
    dst = target(dst)
    ids = read(segment_ids, "segment_ids")
    only_sbuf(dst, "dst", "GpSimd")
    only_sbuf(segment_ids, "segment_ids", "GpSimd")
    for operand, array in (("segment_ids", ids), ("dst", dst._array)):
        if array.dtype not in (float32, int32):
            refuse(f"type {array.dtype}, expected float32 or int32", operand)
    n = ids.size
    if ids.shape[0] != 1 or dst.shape[0] != 1 or dst.size != 2 * n:
        refuse(f"shape {dst.shape} for segment_ids {ids.shape}; expected (1, 2, n) for (1, n)", "dst")
    row = ids.reshape(-1)
    if row.min() < 0:
        refuse(f"{row.min()}; ids are not negative", "segment_ids")
    changes = np.flatnonzero(np.diff(row)) + 1
    starts, ends = np.concatenate([[0], changes]), np.concatenate([changes, [n]])
    run = np.repeat(np.arange(starts.size), ends - starts)
    bounds = np.stack([np.where(row == 0, n, starts[run]), np.where(row == 0, -1, ends[run])])
    write(dst, bounds.astype(dst._array.dtype).reshape(dst.shape))
    return Instruction()


def _row(tile: NkiTensor, row: int) -> NkiTensor:
    return NkiTensor(tile._storage, tile._array[row : row + 1], tile._offset + row * tile._array.strides[0])


def _is_written(tile: NkiTensor, row: int) -> bool:
    if not tile._storage.watched:
        return True
    try:
        tile._storage.note_read(_row(tile, row), "src")
    except NkiValidationError:
        return False
    return True


def _rows(array: Array, rows: NDArray[Any]) -> NDArray[np.bool_]:
    """A mask of `array` that is true on the partitions `rows`."""
    where = np.zeros(array.shape, np.bool_)
    where[rows] = True
    return where


def _same_type(dst: NkiTensor, values: Array, operand: str) -> None:
    if values.dtype != dst._array.dtype:
        refuse(f"type {values.dtype}, dst has {dst.dtype}; a gather does not convert", operand)


def _inside(positions: NDArray[Any], size: int, operand: str) -> None:
    if positions.max() >= size:
        refuse(f"index {positions.max()} reaches beyond the {size} elements per partition", operand)
