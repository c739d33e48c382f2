"""Gather, scatter and their accumulating forms: DMA over rows that a vector of offsets chooses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._dtypes import Array, Dtype, assign, to_float32
from ._errors import refuse
from ._indirect import VectorIndirect
from ._operands import note_moved, refuse_repeats, settled
from ._patterns import overlaps
from ._storage import Buffer, Known, Rows
from ._tensor import NkiTensor

_SHOWN = 8


def gather(dst: NkiTensor, src: VectorIndirect, skip: bool) -> None:
    """`dst` = the rows of `src`, in order. Rows that are skipped leave their elements of `dst` alone."""
    _writable_view(dst)
    if src.offsets.shape[1] > 1:
        _check_batch(dst, src)
    rows, inside = src.rows("src", skip)
    values, known = _move_rows(src, rows if inside is None else rows[inside], "src")
    _put(dst, src.shape, inside, _converted(settled(values, known), dst._array.dtype), known)


def scatter(dst: VectorIndirect, source: Array, known: Known, skip: bool) -> None:
    """The rows of `dst` = `source`, of which the `known` were written; two rows must not write the same element."""
    _check_rows_writable(dst)
    rows, inside = _different(dst, "dst", skip)
    source = settled(source, known).reshape(dst.shape)
    if inside is not None:
        source = source[inside]
    _write_rows(dst, rows, _converted(source, dst._template._array.dtype))
    if known is not None:
        known = known.reshape(dst.shape)
        window = dst.window()
        missing = np.zeros(window.shape, np.bool_)
        missing[rows] = ~(known if inside is None else known[inside])
        window._storage.take_back(window, missing)


def gathered(src: VectorIndirect, operand: str, skip: bool) -> tuple[Array, Known, NDArray[np.bool_] | None]:
    """The rows of `src` as a new array [P, ...], which elements were written (None: all), and which of the rows were
    read [P, 1, ...] (None: all).
    """
    rows, inside = src.rows(operand, skip)
    values, known = _move_rows(src, rows if inside is None else rows[inside], operand)
    if inside is None:
        return values, known, None
    return (
        _whole(values, src.shape, inside),
        None if known is None else _whole(known, src.shape, inside),
        inside.reshape(-1, *[1] * (src.ndim - 1)),
    )


def _whole(values: Array, shape: tuple[int, ...], inside: NDArray[np.bool_]) -> Array:
    """`values`, the rows `inside` of `shape`, in an array of that shape."""
    whole = np.zeros(shape, values.dtype)
    whole[inside] = values
    return whole


def accumulate_rows(dst: Any, sources: list[Any], skip: bool) -> None:
    """The two forms of dma_compute that read, add and write back: scatter-add and gather-add."""
    if len(sources) != 2:
        refuse(f"{len(sources)} sources; with rows by vector_offset there are two, one of them dst", "srcs")
    for source in sources:
        if source.size != dst.size:
            refuse(f"{source.shape} has {source.size} elements, dst {dst.shape} has {dst.size}", "srcs")
    if isinstance(dst, VectorIndirect):
        _scatter_add(dst, sources, skip)
    else:
        _gather_add(dst, sources, skip)


def _scatter_add(dst: VectorIndirect, sources: list[Any], skip: bool) -> None:
    _check_rows_writable(dst)
    tile = next((other for one, other in (sources, sources[::-1]) if dst.matches(one)), None)
    if type(tile) is not NkiTensor or tile._storage.buffer is not Buffer.sbuf:
        refuse("a scatter-add has two sources: the rows of dst themselves (same offsets) and a tile in SBUF", "srcs")
    if tile._storage.watched:
        tile._storage.note_read(tile, "srcs")
    rows, inside = _different(dst, "dst", skip)
    added = tile._array.reshape(dst.shape)
    held = to_float32(_read_rows(dst, rows, "srcs"), "srcs")
    total = held + to_float32(added if inside is None else added[inside], "srcs")
    _write_rows(dst, rows, _converted(total, dst._template._array.dtype))


def _gather_add(dst: NkiTensor, sources: list[Any], skip: bool) -> None:
    src = next((one for one, other in (sources, sources[::-1]) if _same(dst, other)), None)
    if not isinstance(src, VectorIndirect) or dst._storage.buffer is not Buffer.sbuf:
        refuse("a gather-add has two sources, rows by vector_offset and dst itself, which lies in SBUF", "srcs")
    _writable_view(dst)
    rows, inside = _different(src, "srcs", skip)
    held = dst._array.reshape(src.shape)
    if inside is not None:
        held = held[inside]
    _check_read(dst, src.shape, inside)
    total = to_float32(held, "srcs") + to_float32(_read_rows(src, rows, "srcs"), "srcs")
    _put(dst, src.shape, inside, _converted(total, dst._array.dtype))


def _different(view: VectorIndirect, operand: str, skip: bool) -> tuple[Rows, NDArray[np.bool_] | None]:
    """The positions of the rows that lie inside, and which those are; no two may share an element."""
    rows, inside = view.rows(operand, skip)
    chosen = rows if inside is None else rows[inside]
    again = view.repeated(chosen)
    if again and not view._storage.core.launch.shapes_only:
        places = np.arange(rows.size) if inside is None else np.flatnonzero(inside)
        shown = ", ".join(f"{places[row]} (offset {chosen[row]})" for row in again[:_SHOWN])
        more = f" and {len(again) - _SHOWN} more" if len(again) > _SHOWN else ""
        refuse(
            f"rows {shown}{more} name the same elements as earlier ones: which of them is written last is undefined; "
            "merge equal rows first, or give them calls of their own",
            operand,
        )
    return chosen, inside


def _read_rows(src: VectorIndirect, rows: Rows, operand: str) -> Array:
    window = src.window()
    if window._storage.watched:
        window._storage.note_read(window, operand, rows)
    values: Array = window._array[rows]
    return values


def _move_rows(src: VectorIndirect, rows: Rows, operand: str) -> tuple[Array, Known]:
    window = src.window()
    known = window._storage.note_move(window, operand, rows) if window._storage.watched else None
    return window._array[rows], known


def _write_rows(dst: VectorIndirect, rows: Rows, values: Array) -> None:
    window = dst.window()
    window._array[rows] = values
    if window._storage.watched:
        window._storage.note_write(window, rows)


def _put(
    dst: NkiTensor, shape: tuple[int, ...], inside: NDArray[np.bool_] | None, values: Array, known: Known = None
) -> None:
    """Writes `values`, the rows `inside` of `shape`, to where they lie in `dst`; the `known` of them were written."""
    where: NDArray[np.bool_] | None = None
    if inside is None:
        dst._array[...] = values.reshape(dst.shape)
    else:
        where = _spread(inside, shape, dst.shape)
        np.copyto(dst._array, _whole(values, shape, inside).reshape(dst.shape), where=where)
        known = None if known is None else _whole(known, shape, inside)
    note_moved(dst, known, where)


def _check_read(dst: NkiTensor, shape: tuple[int, ...], inside: NDArray[np.bool_] | None) -> None:
    if not dst._storage.watched:
        return
    if inside is None or dst.shape[0] != shape[0]:
        dst._storage.note_read(dst, "srcs")
    else:
        dst._storage.note_read(dst, "srcs", np.flatnonzero(inside))


def _spread(inside: NDArray[np.bool_], shape: tuple[int, ...], wanted: tuple[int, ...]) -> NDArray[np.bool_]:
    return np.broadcast_to(inside.reshape(-1, *[1] * (len(shape) - 1)), shape).reshape(wanted)


def _converted(values: Array, dtype: Dtype) -> Array:
    """`values` in another type, as a DMA converts: through fp32."""
    if values.dtype == dtype:
        return values
    converted = np.empty(values.shape, dtype)
    assign(converted, to_float32(values, "src"))
    return converted


def _same(dst: NkiTensor, other: Any) -> bool:
    return (
        type(other) is NkiTensor
        and other._storage is dst._storage
        and (other._offset, other.shape, other.strides, other.dtype) == (dst._offset, dst.shape, dst.strides, dst.dtype)
    )


def _writable_view(dst: Any) -> None:
    if dst._repeats:
        refuse_repeats(dst)


def _check_rows_writable(dst: VectorIndirect) -> None:
    if overlaps(list(dst.strides[1:]), list(dst.shape[1:])):
        refuse(f"rows {dst.get_pattern()[1:]} that name elements more than once cannot be written", "dst")


def _check_batch(dst: NkiTensor, src: VectorIndirect) -> None:
    """Several columns of offsets: what the hardware asks of such a gather."""
    if src.shape[0] != src.offsets.size:
        refuse(f"shape {src.offsets.shape} for {src.shape[0]} rows; a gather reads all offsets", "vector_offset")
    if src.dtype != dst.dtype:
        refuse(f"type {dst.dtype}, src has {src.dtype}; with several columns of offsets a DMA cannot convert", "dst")
    if not src.rows_are_contiguous() or not dst.is_contiguous():
        refuse("with several columns of offsets the rows of src, and dst, are contiguous", "dst")
