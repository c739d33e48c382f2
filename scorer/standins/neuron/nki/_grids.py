"""Tensors seen as grids of tiles, or of blocks of tiles (NKI 0.7): `nl.tiles`, `nl.blocks`, `nl.alloc_tiles`,
`nl.alloc_blocks`.

A grid is a view: per dimension where it starts and ends, and how large a cell is. The last cell may be smaller. Only
`data` makes an operand of it, the tensor under all that is selected. How several rows of tiles of an on-chip tensor lie
in one operand, the documentation does not say; that is refused, so take them one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ._dtypes import Dtype
from ._errors import refuse
from ._language_tensors import ndarray
from ._storage import Buffer
from ._tensor import NkiTensor
from ._versions import since

_INSTEAD = "slice the tensor"


@dataclass(frozen=True)
class _Axis:
    """A dimension of a selection, in elements: cells of `cell` from `start`, `stride` apart, the last up to `stop`."""

    start: int
    stop: int
    cell: int
    stride: int
    taken: bool = False  # indexed by an int: no dimension of the grid any more
    tiled: bool = True

    @property
    def count(self) -> int:
        return -(-(self.stop - self.start) // self.stride)

    @property
    def elements(self) -> int:
        before = self.count - 1
        return before * self.cell + min(self.cell, self.stop - self.start - before * self.stride)

    @property
    def gapless(self) -> bool:
        return self.stride == self.cell or self.count == 1

    def at(self, item: Any) -> _Axis:
        """The cells that an index of the grid selects."""
        count = self.count
        if isinstance(item, slice):
            step = 1 if item.step is None else item.step
            first, last, _ = item.indices(count)
            if step < 1 or first >= last or (item.stop is not None and item.stop > count):
                refuse(f"slice {item.start}:{item.stop}:{item.step} of {count} cells; at least one, inside, in order")
            last = first + (last - 1 - first) // step * step
            stop = min(self.start + last * self.stride + self.cell, self.stop)
            return replace(self, start=self.start + first * self.stride, stop=stop, stride=self.stride * step)
        if isinstance(item, bool) or not isinstance(item, int) or not -count <= item < count:
            refuse(f"index {item!r} lies outside the {count} cells")
        start = self.start + item % count * self.stride
        return replace(self, start=start, stop=min(start + self.cell, self.stop), stride=self.cell, taken=True)


Operand = Callable[[tuple[_Axis, ...]], NkiTensor]
Made = tuple[tuple[_Axis, ...], tuple[int, ...], Operand, Dtype, Buffer]


class NkiGrid:
    """A tensor as a grid. Attributes: `dtype`, `buffer`, `tile_shape` (elements per tile)."""

    def __init__(
        self, axes: tuple[_Axis, ...], tile_shape: tuple[int, ...], operand: Operand, dtype: Dtype, buffer: Buffer
    ) -> None:
        self._axes = axes
        self._operand = operand
        self.tile_shape = tile_shape
        self.dtype = dtype
        self.buffer = buffer

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells per dimension that no int has indexed; of a dimension that is not tiled, its elements."""
        return tuple(axis.count for axis in self._axes if not axis.taken)

    @property
    def element_shape(self) -> tuple[int, ...]:
        """Selected elements per dimension, without the untiled ones that an int has indexed."""
        return tuple(axis.elements for axis in self._axes if axis.tiled or not axis.taken)

    @property
    def index_step_elements(self) -> tuple[int, ...]:
        """Elements from one cell to the next, per dimension of `shape`."""
        return tuple(axis.stride for axis in self._axes if not axis.taken)

    @property
    def is_remainder(self) -> bool:
        """Whether a tile of the selection is smaller than `tile_shape`."""
        tiled = [axis for axis in self._axes if axis.tiled]
        return any(axis.elements % size for axis, size in zip(tiled, self.tile_shape, strict=True))

    @property
    def is_data_representable(self) -> bool:
        """Whether `data` can be had: no gaps between cells, and on chip one row of tiles."""
        return all(axis.gapless for axis in self._axes) and not self._several_rows()

    @property
    def data(self) -> NkiTensor:
        """The tensor under the whole selection, of `element_shape`."""
        if not self.is_data_representable:
            reason = "several rows of tiles on chip" if self._several_rows() else "cells with gaps between"
            refuse(f"{reason} are no single operand; select one cell after the other", "data")
        return self._operand(self._axes)

    def __getitem__(self, index: Any) -> Any:
        """The selected cells, as a grid again; ints, slices with positive step and `...`."""
        items = list(index) if isinstance(index, tuple) else [index]
        free = [number for number, axis in enumerate(self._axes) if not axis.taken]
        if Ellipsis in items:
            hole = items.index(Ellipsis)
            items[hole : hole + 1] = [slice(None)] * (len(free) - len(items) + 1)
        if len(items) > len(free):
            refuse(f"{len(items)} indices for a grid of {self.shape}")
        axes = list(self._axes)
        for number, item in zip(free, items, strict=False):
            axes[number] = axes[number].at(item)
        return self._with(tuple(axes))

    def __len__(self) -> int:
        return self.shape[0]

    __iter__ = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape}, tile_shape={self.tile_shape}, buffer={self.buffer!r})"

    def _several_rows(self) -> bool:
        partitions = next(axis for axis in self._axes if axis.tiled)
        on_chip = self.buffer is Buffer.sbuf or self.buffer is Buffer.psum
        return on_chip and partitions.elements > self.tile_shape[0]

    def _with(self, axes: tuple[_Axis, ...]) -> NkiGrid:
        return type(self)(axes, self.tile_shape, self._operand, self.dtype, self.buffer)

    def _regrouped(self, sizes: tuple[int, ...]) -> tuple[_Axis, ...]:
        """The same selection in cells of other sizes."""
        if not all(axis.gapless for axis in self._axes):
            refuse("a selection with gaps between its cells cannot be regrouped", "source")
        left = iter(sizes)
        axes = []
        for axis in self._axes:
            if axis.tiled:
                size = next(left)
                axis = replace(axis, cell=size, stride=size, taken=False)
            axes.append(axis)
        return tuple(axes)


class NkiTileGrid(NkiGrid):
    """A grid whose cells are tiles."""


class NkiBlockGrid(NkiGrid):
    """A grid whose cells are blocks of tiles."""

    @property
    def block_shape(self) -> tuple[int, ...]:
        """Tiles per block, per tiled dimension."""
        tiled = [axis for axis in self._axes if axis.tiled]
        return tuple(axis.cell // size for axis, size in zip(tiled, self.tile_shape, strict=True))


def tiles(source: Any, *, tile_shape: tuple[int, ...] | None = None) -> NkiTileGrid:
    """`source` as a grid of tiles of `tile_shape` elements, for its last dimensions; of a grid, its tiles.

    Source: nki.language.tiles.
    """
    since("0.7", "nl.tiles", _INSTEAD)
    return NkiTileGrid(*_grid(source, tile_shape, None))


def blocks(source: Any, *, tile_shape: tuple[int, ...] | None = None, block_shape: tuple[int, ...]) -> NkiBlockGrid:
    """`source` as a grid of blocks of `block_shape` tiles of `tile_shape` elements. Source: nki.language.blocks."""
    since("0.7", "nl.blocks", _INSTEAD)
    return NkiBlockGrid(*_grid(source, tile_shape, block_shape))


def alloc_tiles(
    *,
    tile_shape: tuple[int, ...],
    element_shape: tuple[int, ...],
    buffer: Any,
    dtype: Any,
    address: tuple[int, int] | None = None,
    name: str = "",
) -> NkiTileGrid:
    """New memory as a grid of tiles. On chip every tile has its own place, as if it were whole, row by row.

    Source: nki.language.alloc_tiles.
    """
    since("0.7", "nl.alloc_tiles", "allocate tiles with nl.ndarray")
    return NkiTileGrid(*_allocated(tile_shape, None, element_shape, buffer, dtype, address, name))


def alloc_blocks(
    *,
    tile_shape: tuple[int, ...],
    block_shape: tuple[int, ...],
    element_shape: tuple[int, ...],
    buffer: Any,
    dtype: Any,
    address: tuple[int, int] | None = None,
    name: str = "",
) -> NkiBlockGrid:
    """New memory as a grid of blocks; it lies as that of `alloc_tiles`. Source: nki.language.alloc_blocks."""
    since("0.7", "nl.alloc_blocks", "allocate tiles with nl.ndarray")
    return NkiBlockGrid(*_allocated(tile_shape, block_shape, element_shape, buffer, dtype, address, name))


def _grid(source: Any, tile_shape: Any, block_shape: Any) -> Made:
    if isinstance(source, NkiGrid):
        sizes = source.tile_shape if tile_shape is None else _sizes(tile_shape, len(source.tile_shape), "tile_shape")
        cells = _cells(sizes, block_shape)
        return source._regrouped(cells), sizes, source._operand, source.dtype, source.buffer
    if type(source) is not NkiTensor:
        refuse(f"{source!r}; expected a tensor with a static address, or a grid", "source")
    if tile_shape is None:
        refuse("missing; only a grid has one of its own", "tile_shape")
    sizes = _sizes(tile_shape, None, "tile_shape")
    if source._storage.on_chip and len(sizes) != source.ndim:
        refuse(f"{sizes} for {source.shape}: on chip all dimensions are tiled", "tile_shape")
    axes = _axes(source.shape, _cells(sizes, block_shape))
    return axes, sizes, lambda axes: _slices(source, axes), source.dtype, source.buffer


def _allocated(
    tile_shape: Any, block_shape: Any, element_shape: Any, buffer: Any, dtype: Any, address: Any, name: str
) -> Made:
    sizes = _sizes(tile_shape, None, "tile_shape")
    elements = _sizes(element_shape, None, "element_shape")
    axes = _axes(elements, _cells(sizes, block_shape))
    if buffer is not Buffer.sbuf and buffer is not Buffer.psum:
        whole = ndarray(elements, dtype, buffer, name, address)
        return axes, sizes, lambda axes: _slices(whole, axes), whole.dtype, buffer
    if len(elements) != len(sizes):
        refuse(f"{elements}: on chip all dimensions are tiled, tile_shape is {sizes}", "element_shape")
    counts = tuple(-(-extent // size) for extent, size in zip(elements, sizes, strict=True))
    slots = ndarray((sizes[0], math.prod(counts), *sizes[1:]), dtype, buffer, name, address)
    return axes, sizes, lambda axes: _slot(slots, sizes, counts, axes), slots.dtype, buffer


def _slices(source: NkiTensor, axes: tuple[_Axis, ...]) -> NkiTensor:
    return source[tuple(axis.start if axis.taken and not axis.tiled else slice(axis.start, axis.stop) for axis in axes)]


def _slot(slots: NkiTensor, sizes: tuple[int, ...], counts: tuple[int, ...], axes: tuple[_Axis, ...]) -> NkiTensor:
    """The tiles, one or several side by side in their last dimension, in the memory that `_allocated` laid out."""
    first = [axis.start // size for axis, size in zip(axes, sizes, strict=True)]
    number = 0
    for place, count in zip(first, counts, strict=True):
        number = number * count + place
    if all(axis.elements <= size for axis, size in zip(axes, sizes, strict=True)):
        return slots[(slice(0, axes[0].elements), number, *(slice(0, axis.elements) for axis in axes[1:]))]
    if len(sizes) > 2:
        refuse(f"several tiles of {len(sizes)} dimensions on chip are no single operand; take them one by one", "data")
    flat = slots.reshape((slots.shape[0], slots.shape[1] * slots.shape[2]))
    start = number * sizes[1]
    return flat[0 : axes[0].elements, start : start + axes[1].elements]


def _axes(shape: tuple[int, ...], cells: tuple[int, ...]) -> tuple[_Axis, ...]:
    lead = len(shape) - len(cells)
    if lead < 0:
        refuse(f"{len(cells)} dimensions for the {len(shape)} of {shape}", "tile_shape")
    return (
        *(_Axis(0, extent, 1, 1, tiled=False) for extent in shape[:lead]),
        *(_Axis(0, extent, cell, cell) for extent, cell in zip(shape[lead:], cells, strict=True)),
    )


def _cells(sizes: tuple[int, ...], block_shape: Any) -> tuple[int, ...]:
    if block_shape is None:
        return sizes
    counts = _sizes(block_shape, len(sizes), "block_shape")
    return tuple(size * count for size, count in zip(sizes, counts, strict=True))


def _sizes(given: Any, rank: int | None, operand: str) -> tuple[int, ...]:
    if not isinstance(given, tuple) or not all(type(size) is int and size > 0 for size in given):
        refuse(f"{given!r}; expected a tuple of positive ints", operand)
    if len(given) < 2 or (rank is not None and len(given) != rank):
        refuse(f"{given}; expected {'at least 2' if rank is None else rank} dimensions", operand)
    return given
