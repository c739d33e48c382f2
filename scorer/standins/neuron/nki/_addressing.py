"""How views with a run-time address are made, and what their indices must be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._core import PARTITIONS
from ._dtypes import int32, uint32
from ._errors import refuse
from ._indirect import ScalarIndirect, VectorIndirect
from ._patterns import reach
from ._scalars import RuntimeScalar, RuntimeSlice
from ._storage import Buffer
from ._tensor import NkiTensor


def select(base: NkiTensor, dim: int, index: Any) -> NkiTensor:
    """`base` at the position `index` of dimension `dim`, which is removed."""
    _static(base)
    _check_scalar(index, "index")
    _check_width(base, index, "index")
    step = base._array.strides[dim]
    template = base[(*[slice(None)] * dim, 0)]
    return ScalarIndirect(template, index, step, base.shape[dim])


def moved_slice(base: NkiTensor, items: Sequence[Any], dim: int) -> NkiTensor:
    """`base[items]`, of which the item of dimension `dim` is a `RuntimeSlice`."""
    _static(base)
    if dim == 0 and base._storage.on_chip:
        refuse("partitions of an on-chip tensor cannot be chosen by a run-time value")
    part: RuntimeSlice = items[dim]
    if type(part.size) is not int or not 1 <= part.size <= base.shape[dim]:
        refuse(f"{part.size!r} positions of dimension {dim} of {base.shape}", "size")
    template = base[(*items[:dim], slice(0, part.size), *items[dim + 1 :])]
    _check_width(base, part.start, "start")
    return ScalarIndirect(template, part.start, base._array.strides[dim], base.shape[dim] - part.size + 1)


def vector_select(base: NkiTensor, dim: int, offsets: Any) -> NkiTensor:
    """`base` with the rows that `offsets` names."""
    _static(base)
    if dim != 0:
        refuse(f"{dim}: rows are chosen from dimension 0", "dim")
    _check_offsets(base, offsets)
    if offsets.shape[1] != 1:
        refuse(f"shape {offsets.shape}, expected (P, 1)", "vector_offset")
    array = base._array
    shape, strides = (offsets.shape[0], *array.shape[1:]), (0, *array.strides[1:])
    template = NkiTensor(
        base._storage, base._strided(shape, strides, base._offset, array.dtype), base._offset, repeats=True
    )
    return VectorIndirect(template, offsets, array.strides[0], base.shape[0])


def pattern_view(
    base: NkiTensor,
    pattern: Sequence[Sequence[int]],
    offset: int | None,
    scalar: Any,
    offsets: Any,
    dim: int,
    dtype: Any,
) -> NkiTensor:
    """`base.ap` with a run-time offset."""
    _static(base)
    if scalar is not None and offsets is not None:
        refuse("given together with scalar_offset; a view has one run-time offset", "vector_offset")
    if not 0 <= dim < base.ndim:
        refuse(f"{dim} is no dimension of {base.shape}", "indirect_dim")
    step = _step(base, dim)
    if offsets is None:
        return _moved(base, base._pattern(pattern, offset, dtype), scalar, dim, step)
    _check_offsets(base, offsets)
    if dim != 0:
        refuse(f"{dim}: a vector of offsets chooses rows of dimension 0", "indirect_dim")
    template = base._pattern([(0, pattern[0][1]), *pattern[1:]], offset, dtype)
    rows, columns = offsets.shape
    if columns == 1 and template.shape[0] != rows:
        refuse(f"shape {offsets.shape}, the pattern has {template.shape[0]} rows; slice the offsets", "vector_offset")
    if columns > 1 and (rows != PARTITIONS or template.shape[0] > offsets.size):
        refuse(
            f"shape {offsets.shape} for {template.shape[0]} rows; several columns of offsets have {PARTITIONS} rows "
            "each, and no more rows than offsets are read",
            "vector_offset",
        )
    return VectorIndirect(template, offsets, step, _positions(template, step))


def _moved(base: NkiTensor, template: NkiTensor, index: Any, dim: int, step: int) -> NkiTensor:
    _check_scalar(index, "scalar_offset")
    _check_width(base, index, "scalar_offset")
    storage = base._storage
    if not storage.on_chip:
        return ScalarIndirect(template, index, step, _positions(template, step))
    if dim == 0:
        refuse("0 of an on-chip tensor is the partition dimension, which no run-time value addresses", "indirect_dim")
    array = template._array
    column = template._offset % storage.partition_bytes
    last = column + reach(array.strides[1:], array.shape[1:])[1] + array.itemsize
    return ScalarIndirect(template, index, step, (storage.partition_bytes - last) // step + 1)


def _positions(template: NkiTensor, step: int) -> int:
    """How many positions, `step` bytes apart, keep the template inside its tensor."""
    array = template._array
    last = template._offset + reach(array.strides, array.shape)[1] + array.itemsize
    return (template._storage.array.nbytes - last) // step + 1


def _step(base: NkiTensor, dim: int) -> int:
    """Bytes that one position of dimension `dim` of `base` stands for: all dimensions behind it."""
    array = base._array
    step: int = array.itemsize * int(np.prod(array.shape[dim + 1 :]))
    if array.shape[dim] > 1 and array.strides[dim] != step:
        refuse(
            f"{dim} of {base.shape} with strides {base.strides}: run-time offsets need a dimension behind which the "
            "tensor is contiguous; call ap on the whole tensor",
            "indirect_dim",
        )
    return step


def _static(base: NkiTensor) -> None:
    if base.is_indirect():
        refuse("the view has a run-time address already, and can have only one")


def _check_scalar(index: Any, operand: str) -> None:
    if isinstance(index, RuntimeScalar):
        return
    if not isinstance(index, NkiTensor):
        refuse(
            f"{index!r}: expected an SBUF tensor (1, 1) or a register; a compile-time number belongs into offset",
            operand,
        )
    if index.size != 1:
        refuse(f"shape {index.shape}, expected (1, 1)", operand)
    _check_integers(index, operand)


def _check_width(base: NkiTensor, index: Any, operand: str) -> None:
    if base._storage.on_chip and isinstance(index, RuntimeScalar) and getattr(index, "dtype", int32) != int32:
        refuse("an int64 scalar addresses HBM only; on chip an offset has 32 bits", operand)


def _check_offsets(base: NkiTensor, offsets: Any) -> None:
    if base._storage.on_chip:
        refuse(f"rows of {base.buffer!r} cannot be chosen; a vector of offsets addresses HBM", "vector_offset")
    if not isinstance(offsets, NkiTensor):
        refuse(f"{offsets!r}: expected an SBUF tensor (P, 1)", "vector_offset")
    if offsets.ndim != 2:
        refuse(f"shape {offsets.shape}, expected (P, 1)", "vector_offset")
    _check_integers(offsets, "vector_offset")


def _check_integers(index: NkiTensor, operand: str) -> None:
    _static(index)
    if index._storage.buffer is not Buffer.sbuf:
        refuse(f"lies in {index.buffer!r}; an index lies in SBUF", operand)
    if index.dtype not in (int32, uint32):
        refuse(f"type {index.dtype}, expected int32 or uint32", operand)
