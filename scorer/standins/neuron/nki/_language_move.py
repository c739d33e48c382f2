"""Convenience functions that move, select and reduce: each makes its result with instructions of `nki.isa`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from . import isa
from ._alu import FUNCTIONS, OPERATORS
from ._dtypes import FLOATS, as_dtype, float32, uint8, uint16
from ._errors import refuse
from ._indirect import IndirectTensor
from ._language_math import new, promoted, tile_of
from ._language_tensors import is_hbm, is_on_chip, ndarray, psum, sbuf
from ._tensor import QUADRANT, NkiTensor


def load(src: Any, dtype: Any = None) -> NkiTensor:
    """A new SBUF tile with the elements of `src` (HBM, first dimension at most 128)."""
    if not is_hbm(tile_of(src, "src").buffer):
        refuse(f"lies in {src.buffer!r}; load reads HBM", "src")
    dst = new(src, dtype)
    isa.dma_copy(dst=dst, src=src)
    return dst


def store(dst: Any, value: Any) -> None:
    """Writes the SBUF tile `value` to `dst` (HBM)."""
    if not is_hbm(tile_of(dst, "dst").buffer):
        refuse(f"lies in {dst.buffer!r}; store writes HBM", "dst")
    isa.dma_copy(dst=dst, src=tile_of(value, "value"))


def copy_to(dst: Any, value: Any) -> None:
    """What assigning to a view does: one instruction, chosen by where the two tensors lie."""
    if not isinstance(value, (NkiTensor, IndirectTensor)):
        if not isinstance(value, (int, float, np.number)):
            refuse(f"{value!r} is neither a tensor nor a number", "value")
        if is_hbm(dst.buffer):
            refuse("HBM takes no numbers: fill an SBUF tile and dma_copy it", "value")
        isa.memset(dst=dst, value=value)
        return
    if _without_ones(dst.shape) != _without_ones(value.shape):
        refuse(f"{value.shape} into {dst.shape}: there is no broadcasting", "value")
    if is_hbm(dst.buffer) or is_hbm(value.buffer):
        isa.dma_copy(dst=dst, src=value)
    else:
        isa.tensor_copy(dst=dst, src=value)


def _without_ones(shape: Sequence[int]) -> list[int]:
    return [size for size in shape if size != 1]


def load_transpose2d(src: Any, dtype: Any = None) -> NkiTensor:
    """A new SBUF tile [c, r] with `src` [r, c] (HBM) transposed."""
    if tile_of(src, "src").ndim != 2:
        refuse(f"{src.shape}; two dimensions expected", "src")
    dst = ndarray(src.shape[::-1], src.dtype)
    isa.dma_transpose(dst=dst, src=src)
    return dst if dtype is None or as_dtype(dtype) == src.dtype else FUNCTIONS["copy"](dst, dtype=dtype)


def matmul(x: Any, y: Any, transpose_x: bool = False) -> NkiTensor:
    """With `transpose_x=True` a new PSUM tile x.T @ y, from x [K, M] and y [K, N] in SBUF."""
    if not transpose_x:
        refuse(
            "without transpose_x=True it passes the simulator and fails on Trn2: bring x with the contraction on its "
            "partitions (load_transpose2d, nc_transpose) and pass transpose_x=True",
            "transpose_x",
        )
    m, n = (value.size // value.shape[0] for value in (tile_of(x, "x"), tile_of(y, "y")))
    dst = ndarray((m, n), float32, psum)
    isa.nc_matmul(dst=dst, stationary=x, moving=y, accumulate=False)
    return dst


def transpose(x: Any, dtype: Any = None) -> NkiTensor:
    """A new PSUM tile [F, P] with `x` [P, F] transposed, of the type of `x`."""
    if dtype is not None and as_dtype(dtype) != tile_of(x, "x").dtype:
        refuse(f"{dtype}; a transpose does not convert: copy the result", "dtype")
    partitions = tile_of(x, "x").shape[0]
    dst = ndarray((x.size // partitions, partitions), x.dtype, psum)
    isa.nc_transpose(dst=dst, data=x)
    return dst


def gather_flattened(data: Any, indices: Any, axis: int = 0, dtype: Any = None) -> NkiTensor:
    """`result[p, i] = data[p].flat[indices[p, i]]`, indices uint32; the shape of `indices`."""
    if axis != 0:
        refuse(f"{axis}; only the default is documented: the free dimensions, flattened", "axis")
    gathered = new(tile_of(indices, "indices"), tile_of(data, "data").dtype)
    isa.nc_n_gather(dst=gathered, data=data, indices=indices)
    return gathered if dtype is None else FUNCTIONS["copy"](gathered, dtype=dtype)


def broadcast_to(x: Any, shape: Sequence[int], dtype: Any = None) -> NkiTensor:
    """A new tile of `shape` (same rank) in which dimensions of size 1 are repeated."""
    sizes, view = tuple(shape), tile_of(x, "x")
    if len(sizes) != view.ndim or any(old not in (1, size) for old, size in zip(view.shape, sizes, strict=True)):
        refuse(f"{view.shape} to {sizes}: the same rank, and only dimensions of size 1 are repeated", "shape")
    if sizes[0] != view.shape[0]:
        view = _repeated(view, sizes[0])
    for dim, size in enumerate(sizes):
        if view.shape[dim] != size:
            view = view.broadcast(dim, size)
    result: NkiTensor = FUNCTIONS["copy"](view, dtype=dtype)
    return result


def _repeated(row: NkiTensor, partitions: int) -> NkiTensor:
    """One partition copied to all others, by shuffles of a quadrant each."""
    dst = ndarray((partitions, *row.shape[1:]), row.dtype)
    for start in range(0, partitions, QUADRANT):
        isa.nc_stream_shuffle(dst=dst[start : min(start + QUADRANT, partitions)], src=row, shuffle_mask=[0] * QUADRANT)
    return dst


def expand_dims(x: Any, axis: int) -> NkiTensor:
    """A view with a dimension of size 1 inserted before `axis`; on chip not before the partitions."""
    tile = tile_of(x, "x")
    return tile.expand_dim(axis + tile.ndim + 1 if axis < 0 else axis)


def where(condition: Any, x: Any, y: Any, dtype: Any = None) -> NkiTensor:
    """A new tile: `x` where `condition` is not 0, else `y`; tiles of one shape, x and y also numbers."""
    tile_of(condition, "condition")
    tiles = [value for value in (x, y) if isinstance(value, NkiTensor)]
    if any(tile.shape != condition.shape for tile in tiles):
        refuse(f"{[tile.shape for tile in tiles]} with {condition.shape}: there is no broadcasting", "x, y")
    if dtype is None and not tiles:
        dtype = condition.dtype
    result = new(condition, promoted(*(tile.dtype for tile in tiles)) if dtype is None else dtype)
    chosen = new(condition, uint8)
    isa.tensor_scalar(dst=chosen, data=condition, op0=OPERATORS["not_equal"], operand0=0.0)
    for value, reverse in ((y, True), (x, False)):
        if isinstance(value, NkiTensor):
            same = value if value.dtype == result.dtype else FUNCTIONS["copy"](value, dtype=result.dtype)
        else:
            same = float(value) if result.dtype in FLOATS else int(value)
        isa.tensor_copy_predicated(dst=result, src=same, predicate=chosen, reverse_pred=reverse)
    return result


def dropout(x: Any, rate: Any) -> NkiTensor:
    """A new tile: `x` with each element replaced by 0 with probability `rate`; what stays is not rescaled."""
    dst = new(tile_of(x, "x"))
    isa.dropout(dst=dst, data=x, prob=rate)
    return dst


def rand(shape: Sequence[int], dtype: Any = float32, buffer: Any = sbuf, name: str = "") -> NkiTensor:
    """A new tile of numbers evenly spread over [0, 1), multiples of 2^-16, from the Vector engine's generator."""
    bits = ndarray(shape, uint16)
    isa.rng(dst=bits, engine=isa.engine.vector)
    dst = ndarray(shape, dtype, buffer, name)
    isa.tensor_scalar(dst=dst, data=bits, op0=OPERATORS["multiply"], operand0=2.0**-16)
    return dst


def random_seed(seed: Any) -> None:
    """Seeds the Vector engine's generator with a tile (1, 1) of 32 bits."""
    isa.set_rng_seed(src_seeds=tile_of(seed, "seed"))


def device_print(print_prefix: str, tensor: Any) -> None:
    """Prints `tensor` (not in PSUM, every element written) behind `print_prefix`."""
    if tile_of(tensor, "tensor").buffer is psum:
        refuse("lies in PSUM; print a copy in SBUF", "tensor")
    tensor._storage.note_read(tensor, "tensor")
    print(f"{print_prefix}\n{tensor._array}")


def softmax(*_: Any, **__: Any) -> NoReturn:
    """Fails on Trn2."""
    refuse(
        "relies on broadcasting inside, passes the simulator and fails on Trn2: tensor_reduce(maximum), "
        "activation(op=nl.exp, bias=-max, reduce_op=nl.add), reciprocal, tensor_scalar(multiply)"
    )


def rms_norm(*_: Any, **__: Any) -> NoReturn:
    """Fails on Trn2."""
    refuse(
        "relies on broadcasting inside, passes the simulator and fails on Trn2: activation(op=nl.square, "
        "reduce_op=nl.add), activation(op=nl.rsqrt, scale=1/n, bias=eps), scalar_tensor_tensor"
    )


def sum_(x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """The sum over trailing free axes."""
    return _reduce("add", x, axis, dtype, keepdims)


def _max(x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """The largest value over trailing free axes."""
    return _reduce("maximum", x, axis, dtype, keepdims)


def _min(x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """The smallest value over trailing free axes."""
    return _reduce("minimum", x, axis, dtype, keepdims)


def prod(x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """The product over trailing free axes."""
    return _reduce("multiply", x, axis, dtype, keepdims)


def mean(x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """The mean over trailing free axes."""
    total = _reduce("add", x, axis, float32, keepdims)
    dst = new(total, x.dtype if dtype is None else dtype)
    isa.tensor_scalar(dst=dst, data=total, op0=OPERATORS["multiply"], operand0=total.size / x.size)
    return dst


def var(x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """The population variance over all free axes; the reduced axes always stay, with size 1."""
    middle = mean(x, axis, float32, keepdims=True)
    if middle.size != middle.shape[0]:
        refuse(f"{axis} of {x.shape}; the variance is taken over all free axes", "axis")
    spread, total = new(x, float32), ndarray((x.shape[0], 1), float32)
    isa.tensor_scalar(dst=spread, data=x, op0=OPERATORS["subtract"], operand0=middle.reshape((x.shape[0], 1)))
    isa.activation(
        dst=spread,
        op=OPERATORS["square"],
        data=spread,
        reduce_op=OPERATORS["add"],
        reduce_res=total,
        reduce_cmd=isa.reduce_cmd.reset_reduce,
    )
    dst = new(middle, x.dtype if dtype is None else dtype)
    isa.tensor_scalar(dst=dst, data=total, op0=OPERATORS["multiply"], operand0=x.shape[0] / x.size)
    return dst


def all_(x: Any, axis: Any, dtype: Any = None) -> NkiTensor:
    """1 where all elements over trailing free axes are not 0, else 0."""
    truth = new(tile_of(x, "x"), float32)
    isa.tensor_scalar(dst=truth, data=x, op0=OPERATORS["not_equal"], operand0=0.0)
    return _reduce("minimum", truth, axis, x.dtype if dtype is None else dtype, False)


def _reduce(name: str, x: Any, axis: Any, dtype: Any, keepdims: bool) -> NkiTensor:
    shape = tile_of(x, "x").shape
    axes = {item % len(shape) for item in ((axis,) if isinstance(axis, (int, np.integer)) else axis)}
    if keepdims:
        left = [1 if dim in axes else size for dim, size in enumerate(shape)]
    else:
        left = [size for dim, size in enumerate(shape) if dim not in axes]
        left += [1] * (2 - len(left) if is_on_chip(x.buffer) else 0)
    dst = ndarray(left, x.dtype if dtype is None else dtype)
    isa.tensor_reduce(dst=dst, op=OPERATORS[name], data=x, axis=axis)
    return dst


FUNCTIONS.update(max=_max, min=_min)
