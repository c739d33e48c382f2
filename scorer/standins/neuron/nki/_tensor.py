"""Tensors: views of a storage. Every view aliases its storage; nothing here copies.

A view is a NumPy array over the storage's memory plus its byte offset, so that bounds are checked once, when the view
is made, and an instruction gets at its operand at no cost.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from ._absent import WithoutOperators
from ._dtypes import Array, Dtype, as_dtype, declared
from ._errors import ints, refuse
from ._patterns import by_name, fill, overlaps, pairs, reach, spread
from ._scalars import RuntimeScalar, RuntimeSlice
from ._storage import Buffer, Storage

QUADRANT = 32
_MAX_RANK = 4  # partition dimension and three free ones, for instructions of the compute engines
MAX_DIMENSIONS = 5  # of a tensor, of an access pattern and of what a DMA moves


class NkiTensor(WithoutOperators):
    """A tensor in SBUF, PSUM or HBM, or a view of one.

    On chip, dimension 0 is the partition dimension: it stays first, and a view never has less than two dimensions.
    """

    __slots__ = ("_array", "_computable", "_offset", "_repeats", "_storage")

    def __init__(self, storage: Storage, array: Array, offset: int, repeats: bool = False) -> None:
        self._storage = storage
        self._array = array
        self._offset = offset  # bytes from the start of the storage
        self._repeats = repeats  # two indices may mean the same element: readable only
        self._computable = (
            storage.on_chip
            and array.ndim <= _MAX_RANK
            and (offset == 0 or offset // storage.partition_bytes % QUADRANT == 0)
        )

    # Attributes

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions."""
        return self._array.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours, per dimension."""
        itemsize = self._array.itemsize
        return tuple(stride // itemsize for stride in self._array.strides)

    @property
    def offset(self) -> int:
        """Elements from the start of the storage to the first element."""
        return self._offset // self._array.itemsize

    @property
    def dtype(self) -> Dtype:
        """Element type; equal to the `nl` constant and to NumPy's dtype."""
        return declared(self._array.dtype)

    @property
    def buffer(self) -> Buffer:
        """`nl.sbuf`, `nl.psum`, `nl.private_hbm` or `nl.shared_hbm`."""
        return self._storage.buffer

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self._array.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._array.size

    @property
    def name(self) -> str:
        """The name given at allocation, or ''."""
        return self._storage.name

    @property
    def data(self) -> NkiTensor:
        """The tensor itself, as the operand of a grid is its `data`."""
        return self

    def is_contiguous(self) -> bool:
        """Whether the elements lie one after the other, in row-major order; on chip, those of each partition."""
        array = self._array[0] if self._storage.on_chip else self._array
        return bool(array.flags.c_contiguous)

    def get_pattern(self) -> list[list[int]]:
        """`[[stride, count], ...]` in elements."""
        return [[stride, count] for stride, count in zip(self.strides, self.shape, strict=True)]

    def is_indirect(self) -> bool:
        """Whether the address comes from another tensor or a register at run time."""
        return False

    def __repr__(self) -> str:
        return f"NkiTensor({self.name!r}, shape={self.shape}, dtype={self.dtype}, buffer={self.buffer!r})"

    def __len__(self) -> int:
        return int(self._array.shape[0])

    __iter__ = None

    def __bool__(self) -> NoReturn:
        raise TypeError("a tensor holds run-time values, which cannot steer Python's if and while")

    def __setitem__(self, index: Any, value: Any) -> None:
        """`self[index] = value` copies: by `nki.isa.tensor_copy` on chip, by `dma_copy` from or to HBM; `memset` for a
        number.

        There is no broadcasting. Source: nki.language.NkiTensor.
        """
        from ._language_move import copy_to

        copy_to(self[index], value)

    # Views

    def __getitem__(self, index: Any) -> NkiTensor:
        """A view by ints, slices with positive step, `...` and `nl.ds`; every bound must lie inside."""
        items = index if type(index) is tuple else (index,)
        array = self._array
        shape = array.shape
        if len(items) > len(shape) or Ellipsis in items:
            items = spread(items, shape)
        strides = array.strides
        offset = self._offset
        parts = []
        dropped = None
        for dim, item in enumerate(items):
            size = shape[dim]
            if type(item) is slice:
                start, stop, step = item.start, item.stop, item.step
                start = 0 if start is None else start if start >= 0 else start + size
                stop = size if stop is None else stop if stop >= 0 else stop + size
                if not 0 <= start < stop <= size or (
                    step is not None and (step < 1 or (dim == 0 and step != 1 and self._storage.on_chip))
                ):
                    self._refuse_slice(dim, item)
                parts.append(slice(start, stop, step))
            elif type(item) is RuntimeSlice:
                from ._addressing import moved_slice

                return moved_slice(self, items, dim)
            else:
                start = self._position(dim, item)
                parts.append(slice(start, start + 1))
                dropped = [dim] if dropped is None else [*dropped, dim]
            offset += start * strides[dim]
        array = array[tuple(parts)]
        if dropped is not None:
            array = self._drop(array, dropped)
        return NkiTensor(self._storage, array, offset, self._repeats)

    def slice(self, dim: int, start: int, end: int, step: int = 1) -> NkiTensor:
        """The view `start:end:step` of one dimension."""
        dim = self._dim(dim)
        return self[(*[slice(None)] * dim, slice(start, end, step))]

    def select(self, dim: int, index: Any) -> NkiTensor:
        """The view at one position of a dimension, which is removed (on chip: not dimension 0).

        `index` is an int, or a run-time value: an SBUF tensor (1, 1) of int32 or uint32, or a register.
        """
        dim = self._dim(dim)
        self._keep_partition(dim)
        if isinstance(index, (NkiTensor, RuntimeScalar)):
            from ._addressing import select

            return select(self, dim, index)
        return self[(*[slice(None)] * dim, index)]

    def permute(self, dims: Sequence[int]) -> NkiTensor:
        """The dimensions in another order; on chip dimension 0 stays first."""
        order = tuple(dims)
        if sorted(order) != list(range(self.ndim)) or (self._storage.on_chip and order[0] != 0):
            stays = " with 0 first (the partition dimension)" if self._storage.on_chip else ""
            refuse(f"{order} is no order of the {self.ndim} dimensions of {self.shape}{stays}", "dims")
        return self._with(self._array.transpose(order))

    def broadcast(self, dim: int, size: int) -> NkiTensor:
        """Repeats a dimension of size 1 `size` times without copying; on chip not dimension 0. Readable only."""
        dim = self._dim(dim)
        self._keep_partition(dim)
        if self.shape[dim] != 1 or size < 1:
            refuse(f"dimension {dim} of {self.shape} has size {self.shape[dim]}, only size 1 can be repeated", "dim")
        shape, strides = list(self.shape), list(self._array.strides)
        shape[dim], strides[dim] = size, 0
        return NkiTensor(
            self._storage, self._strided(shape, strides, self._offset, self._array.dtype), self._offset, repeats=True
        )

    def expand_dim(self, dim: int) -> NkiTensor:
        """Inserts a dimension of size 1 before `dim`; on chip not before dimension 0."""
        if not 0 <= dim <= self.ndim:
            refuse(f"{dim} lies outside the {self.ndim} dimensions of {self.shape}", "dim")
        self._keep_partition(dim)
        return self._with(np.expand_dims(self._array, dim))

    def squeeze_dim(self, dim: int) -> NkiTensor:
        """Removes a dimension of size 1; on chip not dimension 0, and two dimensions must stay."""
        dim = self._dim(dim)
        self._keep_partition(dim)
        if self.shape[dim] != 1 or self.ndim <= (2 if self._storage.on_chip else 1):
            refuse(f"dimension {dim} of {self.shape} cannot be removed", "dim")
        return self._with(np.squeeze(self._array, dim))

    def reshape_dim(self, dim: int, shape: Sequence[int]) -> NkiTensor:
        """Splits one dimension; one size may be -1. On chip not dimension 0."""
        dim = self._dim(dim)
        self._keep_partition(dim)
        sizes = fill(tuple(shape), self.shape[dim])
        return self._reshaped((*self.shape[:dim], *sizes, *self.shape[dim + 1 :]))

    def flatten_dims(self, start_dim: int, end_dim: int) -> NkiTensor:
        """Merges the dimensions `start_dim` to `end_dim`, the last included; they must be contiguous."""
        start, end = self._dim(start_dim), self._dim(end_dim)
        if start > end:
            refuse(f"start {start} lies behind end {end}", "start_dim")
        if start != end:
            self._keep_partition(start)
        return self._reshaped((*self.shape[:start], math.prod(self.shape[start : end + 1]), *self.shape[end + 1 :]))

    def reshape(self, shape: Sequence[int]) -> NkiTensor:
        """The same elements in another shape (one size may be -1); on chip the partition dimension stays as it is."""
        sizes = fill(tuple(shape), self.size)
        if self._storage.on_chip and (len(sizes) < 2 or sizes[0] != self.shape[0]):
            refuse(f"{self.shape} to {sizes} changes the partition dimension", "shape")
        return self._reshaped(sizes)

    def rearrange(
        self, src_pattern: Sequence[Any], dst_pattern: Sequence[Any], fixed_sizes: dict[str, int] | None = None
    ) -> NkiTensor:
        """Splits, permutes and merges by name: `rearrange(("p", ("h", "d")), ("p", "h", "d"), {"h": 4})`.

        A name per dimension, a tuple of names for a dimension that is split (in `src_pattern`) or merged (in
        `dst_pattern`); of the sizes of a split dimension at most one may be left out.
        """
        split, order, merged = by_name(src_pattern, dst_pattern, fixed_sizes or {}, self.shape)
        view = self._reshaped(split).permute(order)
        return view._reshaped(merged)

    def view(self, dtype: Any) -> NkiTensor:
        """The same bytes as another element type; the last dimension is rescaled and must be contiguous."""
        new = self._reinterpreted(as_dtype(dtype))
        if self._array.strides[-1] != self._array.itemsize or self.shape[-1] * self._array.itemsize % new.itemsize:
            refuse(f"the last dimension of {self.shape} (strides {self.strides}) cannot be read as {new}", "dtype")
        return self._with(self._array.view(new))

    def reinterpret_cast(self, dtype: Any) -> NkiTensor:
        """Another name of `view`."""
        return self.view(dtype)

    def ap(
        self,
        pattern: Sequence[Sequence[int]],
        offset: int | None = None,
        scalar_offset: Any = None,
        vector_offset: Any = None,
        indirect_dim: int = 0,
        dtype: Any = None,
    ) -> NkiTensor:
        """A view by an explicit access pattern `[[step, count], ...]` in elements of the underlying storage.

        The view's own strides do not matter; `offset=None` keeps its offset. Element i, j, ...
        lies at offset + i * step0 + j * step1 + ... A step may be negative: [-1, 8] at offset 7 is a row backwards.
        On chip the first step must be the number of elements per partition, and no row may run into another partition.

        `scalar_offset`, an SBUF tensor (1, 1) of int32 or uint32 or a register, moves all of it at run time by that
        many positions of dimension `indirect_dim` of this tensor. `vector_offset`, an SBUF tensor (P, 1), gives each
        of the P rows (dimension 0 of the pattern, whose step is ignored) a row of this HBM tensor. Source:
        nki.language.NkiTensor.ap.
        """
        if scalar_offset is not None or vector_offset is not None:
            from ._addressing import pattern_view

            return pattern_view(self, pattern, offset, scalar_offset, vector_offset, indirect_dim, dtype)
        if indirect_dim != 0:
            refuse(f"{indirect_dim} without scalar_offset", "indirect_dim")
        return self._pattern(pattern, offset, dtype)

    def vector_select(self, dim: int, vector_offset: NkiTensor) -> NkiTensor:
        """The view [P, ...] of an HBM tensor whose row p is the row that `vector_offset` [P, 1] names at run time."""
        from ._addressing import vector_select

        return vector_select(self, self._dim(dim), vector_offset)

    def indirect(self, index: Any, num_elem: int | None = None) -> NoReturn:
        """On-chip gather of Trn3."""
        refuse(".indirect needs Trn3; the target is Trn2")

    def _values_now(self) -> Array:
        """The elements, for who follows a kernel from outside."""
        return self._array

    # How views are made

    def _pattern(self, pattern: Sequence[Sequence[int]], offset: int | None, dtype: Any) -> NkiTensor:
        element = self._array.dtype if dtype is None else self._reinterpreted(as_dtype(dtype))
        storage = self._storage
        itemsize = element.itemsize
        start = self._offset if offset is None else offset * itemsize
        steps = list(ints((step for step, _ in pattern), "pattern"))
        counts = list(ints((count for _, count in pattern), "pattern"))
        if not counts or min(counts) < 1 or len(counts) > MAX_DIMENSIONS:
            refuse(f"{pairs(pattern)}: 1 to {MAX_DIMENSIONS} pairs [step, count] with count >= 1 expected", "pattern")
        before, behind = reach(steps, counts)
        first, last = start + itemsize * before, start + itemsize * behind
        if first < 0 or last + itemsize > storage.array.nbytes:
            end = f"begins at element {first // itemsize}" if first < 0 else f"ends at element {last // itemsize}"
            refuse(
                f"{pairs(pattern)} at offset {start // itemsize} {end}, the tensor has "
                f"{storage.array.nbytes // itemsize}",
                "pattern",
            )
        if storage.on_chip:
            self._check_partition_pattern(steps, counts, start, itemsize)
        array = self._strided(counts, [step * itemsize for step in steps], start, element)
        return NkiTensor(storage, array, start, repeats=overlaps(steps, counts))

    def _reinterpreted(self, dtype: Dtype) -> Dtype:
        """`dtype` as these bytes can be read, if they can."""
        stored = self._array.dtype
        if stored.metadata is None:
            return dtype
        if dtype != self.dtype:
            refuse(f"{self.dtype} is stored as fp32 (NKI_PRECISE_FP=0); its bits cannot be read as {dtype}", "dtype")
        return stored

    def _with(self, array: Array) -> NkiTensor:
        return NkiTensor(self._storage, array, self._offset, self._repeats)

    def _strided(self, shape: Sequence[int], strides: Sequence[int], offset: int, dtype: Dtype) -> Array:
        memory = self._storage.array
        return np.ndarray(tuple(shape), dtype, memory.reshape(-1).view(np.uint8), offset, tuple(strides))

    def _reshaped(self, shape: tuple[int, ...]) -> NkiTensor:
        """The view of that shape. It may have any number of dimensions: an instruction takes few, so `select` first."""
        array = self._array.reshape(shape)
        if array.size and not np.may_share_memory(array, self._array):
            refuse(f"{self.shape} with strides {self.strides} cannot be read as {shape} without copying", "shape")
        return self._with(array)

    def _drop(self, array: Array, dims: list[int]) -> Array:
        """Removes the dimensions that an int indexed; on chip all but dimension 0, as long as two stay (HBM: one)."""
        least = 1
        if self._storage.on_chip:
            dims = [dim for dim in dims if dim != 0]
            least = 2
        dims = dims[: max(0, array.ndim - least)]
        return array.reshape([size for dim, size in enumerate(array.shape) if dim not in dims])

    def _dim(self, dim: int) -> int:
        found = dim + self.ndim if dim < 0 else dim
        if not 0 <= found < self.ndim:
            refuse(f"{dim} is no dimension of {self.shape}", "dim")
        return found

    def _keep_partition(self, dim: int) -> None:
        if dim == 0 and self._storage.on_chip:
            refuse(
                f"dimension 0 of an on-chip tensor {self.shape} is the partition dimension and cannot be changed", "dim"
            )

    def _position(self, dim: int, item: Any) -> int:
        if isinstance(item, NkiTensor):
            raise TypeError("a tensor holds run-time values, which cannot index another one in Python")
        size = self.shape[dim]
        position = operator.index(item)
        if isinstance(item, bool) or not -size <= position < size:
            refuse(f"index {item} lies outside dimension {dim} of {self.shape}")
        return position + size if position < 0 else position

    def _refuse_slice(self, dim: int, item: Any) -> NoReturn:
        step = "" if item.step is None else f":{item.step}"
        rule = "must lie inside, hold at least one element and have a positive step"
        if dim == 0 and self._storage.on_chip:
            rule += " (of 1 over partitions)"
        refuse(f"slice {item.start}:{item.stop}{step} of dimension {dim} of {self.shape} {rule}")

    def _check_partition_pattern(self, steps: list[int], counts: list[int], start: int, itemsize: int) -> None:
        storage = self._storage
        per_partition = storage.partition_bytes // itemsize
        column = start // itemsize % per_partition
        if len(counts) < 2 or steps[0] != per_partition:
            refuse(
                f"{pairs(zip(steps, counts, strict=True))}: on chip the first pair is [elements per partition, "
                f"partitions], here [{per_partition}, at most {storage.array.shape[0]}], and a free pair follows",
                "pattern",
            )
        before, behind = reach(steps[1:], counts[1:])
        if column + before < 0 or column + behind >= per_partition:
            refuse(
                f"the free dimensions go from element {column + before} to {column + behind} of a partition that holds "
                f"{per_partition}",
                "pattern",
            )
