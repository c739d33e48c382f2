"""Views whose address the kernel computes: by a run-time scalar (the whole view moves) or by a vector (each row lies
elsewhere).

Such a view knows its template, the static view at index 0, and where the index comes from. The index is read when an
instruction uses the view, so a view made before its index is written means what the index says then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._dtypes import Array, Dtype
from ._errors import refuse
from ._patterns import reach
from ._scalars import RuntimeScalar
from ._storage import Rows
from ._tensor import NkiTensor


class IndirectTensor(NkiTensor):
    """A view with a run-time address. Its free dimensions can be viewed further; it cannot be made indirect again."""

    __slots__ = ("_index", "_limit", "_present", "_step", "_template")

    def __init__(self, template: NkiTensor, index: Any, step: int, limit: int) -> None:
        self._storage = template._storage
        self._template = template
        self._index = index
        self._step = step  # bytes between two positions
        self._limit = limit  # positions
        self._present: tuple[int, NkiTensor] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions."""
        return self._template.shape

    @property
    def dtype(self) -> Dtype:
        """Element type."""
        return self._template.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self._template.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._template.size

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours, per dimension (0 between rows that offsets choose)."""
        return self._template.strides

    @property
    def offset(self) -> int:
        """Elements from the start of the storage to the first element at index 0."""
        return self._template.offset

    def is_contiguous(self) -> bool:
        """Whether the elements lie one after the other, in row-major order."""
        return self._template.is_contiguous()

    def is_indirect(self) -> bool:
        """Whether the address comes from another tensor or a register at run time."""
        return True

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> NkiTensor:
        return self._again(self._template[index])

    def permute(self, dims: Sequence[int]) -> NkiTensor:
        """As `NkiTensor.permute`."""
        return self._again(self._template.permute(dims))

    def broadcast(self, dim: int, size: int) -> NkiTensor:
        """As `NkiTensor.broadcast`."""
        return self._again(self._template.broadcast(dim, size))

    def expand_dim(self, dim: int) -> NkiTensor:
        """As `NkiTensor.expand_dim`."""
        return self._again(self._template.expand_dim(dim))

    def squeeze_dim(self, dim: int) -> NkiTensor:
        """As `NkiTensor.squeeze_dim`."""
        return self._again(self._template.squeeze_dim(dim))

    def reshape_dim(self, dim: int, shape: Sequence[int]) -> NkiTensor:
        """As `NkiTensor.reshape_dim`."""
        return self._again(self._template.reshape_dim(dim, shape))

    def flatten_dims(self, start_dim: int, end_dim: int) -> NkiTensor:
        """As `NkiTensor.flatten_dims`."""
        return self._again(self._template.flatten_dims(start_dim, end_dim))

    def reshape(self, shape: Sequence[int]) -> NkiTensor:
        """As `NkiTensor.reshape`."""
        return self._again(self._template.reshape(shape))

    def rearrange(
        self, src_pattern: Sequence[Any], dst_pattern: Sequence[Any], fixed_sizes: dict[str, int] | None = None
    ) -> NkiTensor:
        """As `NkiTensor.rearrange`."""
        return self._again(self._template.rearrange(src_pattern, dst_pattern, fixed_sizes))

    def view(self, dtype: Any) -> NkiTensor:
        """Refused: NKI reinterprets static views only."""
        refuse("a view with a run-time address cannot be reinterpreted; use dtype= of ap, or view(dtype) first")

    def ap(
        self,
        pattern: Sequence[Sequence[int]],
        offset: int | None = None,
        scalar_offset: Any = None,
        vector_offset: Any = None,
        indirect_dim: int = 0,
        dtype: Any = None,
    ) -> NkiTensor:
        """Refused: NKI makes a pattern of a static view only."""
        refuse("the view has a run-time address already, and can have only one")

    def now(self, operand: str) -> NkiTensor:
        """The static view that an instruction uses as `operand` now."""
        raise NotImplementedError

    # What instructions take from any operand.

    @property
    def _array(self) -> Array:  # type: ignore[override]
        return self.now("scalar_offset")._array

    @property
    def _offset(self) -> int:  # type: ignore[override]
        return self.now("scalar_offset")._offset

    @property
    def _computable(self) -> bool:  # type: ignore[override]
        return self.now("scalar_offset")._computable

    @property
    def _repeats(self) -> bool:  # type: ignore[override]
        return self._template._repeats

    def _again(self, template: NkiTensor) -> NkiTensor:
        return type(self)(template, self._index, self._step, self._limit)


class ScalarIndirect(IndirectTensor):
    """The template moved by one run-time index."""

    __slots__ = ()

    def at(self, operand: str, skip: bool = False) -> NkiTensor | None:
        """The view at the present index; None for an index out of range if that is to be skipped."""
        index = _scalar(self._index)
        template = self._template
        if not 0 <= index < self._limit:
            if template._storage.core.launch.shapes_only:
                index = 0
            elif skip:
                return None
            else:
                refuse(
                    f"run-time index {index} lies outside the {self._limit} positions of {self._storage.buffer!r} "
                    f"tensor {self._storage.label}{self._storage.array.shape}",
                    operand,
                )
        if self._present is None or self._present[0] != index:
            start = template._offset + index * self._step
            array = template._strided(template._array.shape, template._array.strides, start, template._array.dtype)
            self._present = index, NkiTensor(template._storage, array, start, template._repeats)
        return self._present[1]

    def _values_now(self) -> Array:
        """The elements at the present index; none where that is out of range and was skipped."""
        found = self.at("scalar_offset", skip=True)
        return np.empty(0, self.dtype) if found is None else found._array

    def now(self, operand: str) -> NkiTensor:
        """The static view at the present index."""
        found = self.at(operand)
        assert found is not None  # nothing is skipped
        return found


class VectorIndirect(IndirectTensor):
    """Rows [P, ...] of an HBM tensor, each at the position that its offset names. The template repeats row 0."""

    __slots__ = ()

    @property
    def offsets(self) -> NkiTensor:
        """The tensor of offsets."""
        tensor: NkiTensor = self._index
        return tensor

    def rows_are_contiguous(self) -> bool:
        """Whether the elements of a row lie one after the other."""
        return bool(self._template._array[0].flags.c_contiguous)

    def rows(self, operand: str, skip: bool) -> tuple[Rows, NDArray[np.bool_] | None]:
        """The position of each row, and which of them lie inside (None: all); one outside is an error unless skipped.

        A tensor of offsets with several columns is read column by column.
        """
        index = self._index
        if index._storage.watched:
            index._storage.note_read(index, "vector_offset")
        found: Rows = index._array.T.reshape(-1)[: self.shape[0]].astype(np.intp)
        inside = (found >= 0) & (found < self._limit)
        if inside.all():
            return found, None
        if self._storage.core.launch.shapes_only:
            return np.clip(found, 0, self._limit - 1), None
        if not skip:
            first = int(np.argmin(inside))
            refuse(
                f"offset {found[first]} of row {first} lies outside the {self._limit} rows of {self._storage.buffer!r} "
                f"tensor {self._storage.label}{self._storage.array.shape}; oob_mode=nki.isa.oob_mode.skip skips such "
                "rows",
                operand,
            )
        return found, inside

    def window(self) -> NkiTensor:
        """All rows that an offset may name, [positions, ...]; they may overlap."""
        template = self._template
        array = template._array
        shape, strides = (self._limit, *array.shape[1:]), (self._step, *array.strides[1:])
        return NkiTensor(
            self._storage,
            template._strided(shape, strides, template._offset, array.dtype),
            template._offset,
            repeats=True,
        )

    def repeated(self, rows: Rows) -> list[int]:
        """Which of `rows` share an element with an earlier one."""
        array = self._template._array
        within = np.zeros(1, np.intp)
        before, behind = reach(array.strides[1:], array.shape[1:])
        if behind - before >= self._step:  # rows may overlap without being equal
            for stride, size in zip(array.strides[1:], array.shape[1:], strict=True):
                within = (within[:, None] + stride * np.arange(size)).reshape(-1)
        addresses = (rows[:, None] * self._step + within).reshape(-1)
        order = np.argsort(addresses, kind="stable")
        again = order[1:][np.diff(addresses[order]) == 0]
        return [int(row) for row in np.unique(again // within.size)]

    def matches(self, other: Any) -> bool:
        """Whether `other` names the same elements by the same offsets."""
        if type(other) is not VectorIndirect:
            return False
        mine, yours = self._template, other._template
        return (
            self._storage is other._storage
            and (mine._offset, mine.shape, mine.strides, self._step)
            == (yours._offset, yours.shape, yours.strides, other._step)
            and self._index._storage is other._index._storage
            and (self._index._offset, self._index.shape, self._index.strides)
            == (other._index._offset, other._index.shape, other._index.strides)
        )

    def _again(self, template: NkiTensor) -> NkiTensor:
        rows = self.shape[0]
        if template.ndim == 0 or template.shape[0] != rows or (rows > 1 and template._array.strides[0] != 0):
            refuse(
                f"{self.shape} to {template.shape} changes dimension 0, whose rows the offsets choose; slice the "
                "offsets instead"
            )
        return super()._again(template)

    def _values_now(self) -> Array:
        """The rows that the offsets name, without those that lie outside and were skipped."""
        rows, inside = self.rows("vector_offset", skip=True)
        values: Array = self.window()._array[rows if inside is None else rows[inside]]
        return values

    def now(self, operand: str) -> NkiTensor:
        """Refused: only a DMA goes from row to row."""
        refuse(
            "rows by vector_offset are read and written by dma_copy, dma_compute and dma_transpose only; gather them "
            "into a tile first",
            operand,
        )


def _scalar(index: Any) -> int:
    if isinstance(index, RuntimeScalar):
        return index.number
    if index._storage.watched:
        index._storage.note_read(index, "scalar_offset")
    return int(index._array.reshape(-1)[0])
