"""Making tensors, and the names of loops and programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ._core import PARTITIONS, current
from ._dtypes import FLOATS, SCALAR_ONLY, Dtype, as_dtype, assign, uint8
from ._errors import ints, refuse
from ._isa_data import memset
from ._isa_dma import dma_copy
from ._placement import place
from ._rates import DMA_LEAST_BYTES
from ._scalars import RuntimeScalar, RuntimeSlice
from ._storage import Buffer, Storage, allocate
from ._tensor import MAX_DIMENSIONS, NkiTensor

sbuf = Buffer.sbuf
psum = Buffer.psum
private_hbm = Buffer.private_hbm
shared_hbm = Buffer.shared_hbm


def ndarray(
    shape: Sequence[int], dtype: Any, buffer: Any = sbuf, name: str = "", address: tuple[int, int] | None = None
) -> NkiTensor:
    """A new tensor whose contents are undefined: reading an element before it is written is an error.

    On chip at least two dimensions, the first one (partitions) at most 128. Kernel results need `buffer=nl.shared_hbm`.
    `address`, (first partition, byte within each partition), places an on-chip tile by hand.
    """
    core = current()
    sizes = ints(shape, "shape")
    if not sizes or min(sizes) < 1 or len(sizes) > MAX_DIMENSIONS:
        refuse(f"{sizes}: 1 to {MAX_DIMENSIONS} dimensions, none of size 0, expected", "shape")
    if buffer is None:
        buffer = sbuf
    if type(buffer) is not Buffer:
        refuse(f"{buffer!r} is no buffer; expected nl.sbuf, nl.psum, nl.private_hbm or nl.shared_hbm", "buffer")
    if (buffer is sbuf or buffer is psum) and (len(sizes) < 2 or sizes[0] > PARTITIONS):
        if len(sizes) < 2:
            refuse(f"{sizes}: an on-chip tensor has a partition dimension and at least one free dimension", "shape")
        refuse(
            f"{sizes}: Size of partition dimension {sizes[0]} exceeds architecture limitation of {PARTITIONS}", "shape"
        )
    element = _element_type(dtype, sizes)
    if address is None:
        storage = allocate(core, sizes, element, buffer, name)
    else:
        storage = place(core, sizes, element, buffer, name, address)
    return NkiTensor(storage, storage.array, 0)


def zeros(shape: Sequence[int], dtype: Any, buffer: Any = sbuf, name: str = "") -> NkiTensor:
    """A new tensor of zeros."""
    return full(shape, 0, dtype, buffer, name)


def ones(shape: Sequence[int], dtype: Any, buffer: Any = sbuf, name: str = "") -> NkiTensor:
    """A new tensor of ones."""
    return full(shape, 1, dtype, buffer, name)


def full(shape: Sequence[int], fill_value: Any, dtype: Any, buffer: Any = sbuf, name: str = "") -> NkiTensor:
    """A new tensor with every element `fill_value`, converted to `dtype`: by a memset, in HBM also by copies of it."""
    tensor = ndarray(shape, dtype, buffer, name)
    value = np.empty((), tensor.dtype)
    number = np.float32 if isinstance(fill_value, (float, np.floating)) else np.int64
    assign(value, np.asarray(fill_value, number), nearest=True)
    constant = float(value) if value.dtype in FLOATS else int(value)
    if tensor._storage.on_chip:
        memset(dst=tensor, value=constant)
    else:
        _fill_hbm(tensor, constant)
    return tensor


def _fill_hbm(tensor: NkiTensor, value: float | int) -> None:
    """Only a DMA writes HBM, and it has no constants: an efficient descriptor's worth of them in SBUF is copied over
    and over.
    """
    flat = tensor.reshape((tensor.size,))
    width = min(tensor.size, DMA_LEAST_BYTES // tensor.dtype.itemsize)
    row = ndarray((1, width), tensor.dtype)
    memset(dst=row, value=value)
    whole = tensor.size // width
    repeated = row.ap([[width, 1], [0, whole], [1, width]])
    dma_copy(dst=flat[: whole * width].reshape((whole, width)), src=repeated)
    if rest := tensor.size - whole * width:
        dma_copy(dst=flat[whole * width :], src=row[:, :rest])


def zeros_like(x: NkiTensor, dtype: Any = None, buffer: Any = None, name: str = "") -> NkiTensor:
    """A new tensor of zeros with the shape, type and buffer of `x` unless given."""
    return zeros(x.shape, x.dtype if dtype is None else dtype, x.buffer if buffer is None else buffer, name)


def empty_like(x: NkiTensor, dtype: Any = None, buffer: Any = None, name: str = "") -> NkiTensor:
    """A new undefined tensor with the shape, type and buffer of `x` unless given."""
    return ndarray(x.shape, x.dtype if dtype is None else dtype, x.buffer if buffer is None else buffer, name)


def shared_constant(constant: Any, dtype: Any = None) -> NkiTensor:
    """A read-only HBM tensor that holds `constant`, a NumPy array or the path of a .npy file, converted to `dtype`."""
    core = current()
    values = np.load(constant) if isinstance(constant, (str, Path)) else np.asarray(constant)
    element = as_dtype(values.dtype if dtype is None else dtype)
    array = np.empty(values.shape, element)
    if not array.size or not array.ndim:
        refuse(f"shape {values.shape}; at least one dimension and one element expected", "constant")
    assign(array, values.astype(np.float32) if values.dtype.kind == "f" else values, nearest=True)
    return NkiTensor(Storage.of(array, core, "constant", writable=False), array, 0)


def shared_identity_matrix(n: int, dtype: Any = uint8, dst: Any = None) -> NkiTensor:
    """An identity matrix (n, n) in SBUF, n at most 128; written to `dst` if that is given.

    A constant in HBM as that of `shared_constant`, brought in by a DMA. Source: nki.language.shared_identity_matrix.
    """
    tensor = ndarray((n, n), dtype) if dst is None else dst
    if not isinstance(tensor, NkiTensor) or tensor.shape != (n, n) or tensor.buffer is not sbuf:
        refuse(f"{tensor!r}, expected an SBUF tensor ({n}, {n})", "dst")
    dma_copy(dst=tensor, src=shared_constant(np.eye(n, dtype=np.uint8), tensor.dtype))
    return tensor


def ds(start: Any, size: int) -> Any:
    """The slice of `size` elements from `start`, an int or a run-time value (a register, an `NkiScalar`)."""
    return RuntimeSlice(start, size) if isinstance(start, RuntimeScalar) else slice(start, start + size)


def is_hbm(buffer: Any) -> bool:
    """Whether the buffer is HBM, private or shared."""
    return buffer is private_hbm or buffer is shared_hbm


def is_on_chip(buffer: Any) -> bool:
    """Whether the buffer is SBUF or PSUM."""
    return buffer is sbuf or buffer is psum


def is_psum(buffer: Any) -> bool:
    """Whether the buffer is PSUM."""
    return buffer is psum


def is_sbuf(buffer: Any) -> bool:
    """Whether the buffer is SBUF."""
    return buffer is sbuf


def affine_range(start: int, stop: int | None = None, step: int = 1) -> range:
    """Python's `range`: since NKI 0.3 the three kinds of range are the same, the loop is unrolled."""
    return range(start) if stop is None else range(start, stop, step)


sequential_range = static_range = affine_range


def program_id(axis: int = 0) -> int:
    """Which core of the launch runs this, from 0."""
    _only_axis(axis)
    return current().index


def num_programs(axes: int | None = 0) -> int:
    """How many cores run the kernel: 1 or 2."""
    if axes is not None:
        _only_axis(axes)
    return current().launch.cores


def program_ndim() -> int:
    """Dimensions of the launch grid: 1 under `kernel[n]`."""
    current()
    return 1


def _only_axis(axis: int) -> None:
    if axis != 0:
        refuse(f"{axis}; the launch grid has one axis, 0", "axis")


def _element_type(dtype: Any, shape: tuple[int, ...]) -> Dtype:
    """`dtype` as an element type; 64-bit integers only for one element."""
    if isinstance(dtype, (np.dtype, type)) and np.dtype(dtype) in SCALAR_ONLY:
        if int(np.prod(shape)) != 1:
            refuse(f"{np.dtype(dtype)} is no element type of Trn2 but for one element, for scalar_load", "dtype")
        return np.dtype(dtype)
    return as_dtype(dtype)
