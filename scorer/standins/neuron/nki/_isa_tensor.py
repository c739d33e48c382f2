"""Tensor engine: matrix products and transposes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._core import PSUM_BANK_BYTES
from ._dtypes import FLOATS, FP8, Array, declared, float8_e4m3fn, float32, to_float32
from ._enums import choose, engine, matmul_perf_mode
from ._errors import refuse
from ._operands import Instruction, moved, read, target, write
from ._storage import Buffer, Known, PsumStorage
from ._tensor import NkiTensor

STATIONARY_FREE = 128
MOVING_FREE = 512
_TILE_ROWS = (32, 64, 128)
_VECTOR_TRANSPOSE = 32


def nc_matmul(
    dst: Any,
    stationary: Any,
    moving: Any,
    is_stationary_onezero: bool = False,
    is_moving_onezero: bool = False,
    is_transpose: bool = False,
    accumulate: bool | None = None,
    tile_position: tuple[int, ...] = (),
    tile_size: tuple[int, ...] = (),
    perf_mode: Any = matmul_perf_mode.none,
    name: str | None = None,
) -> Instruction:
    """`dst[M, N]` (PSUM, fp32) `= or += stationary[K, M].T @ moving[K, N]` (both SBUF); K, M <= 128, N <= 512.

    `accumulate=False` overwrites, True adds to what matmuls wrote there, None overwrites an element the first time
    and adds later. `is_transpose`: with an identity matrix as `moving`, `dst` (of the type of `stationary`) is
    `stationary` transposed, bit for bit.
    """
    if is_transpose:
        held, known = moved(stationary, "stationary")
        _check_input(stationary, "stationary")
        return _transpose_mode(dst, held, known, _input(moving, "moving"), accumulate, perf_mode)
    weights = _input(stationary, "stationary")
    data = _input(moving, "moving")
    dst = _product_target(dst)
    if accumulate is not None and not isinstance(accumulate, bool):
        refuse(f"{accumulate!r}, expected True, False or None", "accumulate")
    if perf_mode is matmul_perf_mode.double_row:
        weights, data = _double_row(weights, data, tile_size)
    elif perf_mode is not matmul_perf_mode.none:
        refuse(f"{perf_mode!r} is none of nki.isa.matmul_perf_mode", "perf_mode")
    if weights.ndim != 2:
        refuse(
            f"{stationary.shape}: a stationary operand with two free dimensions gives wrong products on Trn2",
            "stationary",
        )
    k, m = weights.shape
    if data.shape[0] != k:
        refuse(
            f"{moving.shape} contracts over {data.shape[0]} partitions, stationary {stationary.shape} over {k}",
            "moving",
        )
    data = data.reshape(k, -1)
    n = data.shape[1]
    if m > STATIONARY_FREE or n > MOVING_FREE:
        refuse(
            f"free sizes {m} (stationary) and {n} (moving); the limits are {STATIONARY_FREE} and {MOVING_FREE}",
            "moving",
        )
    if dst.shape[0] != m or dst.size != m * n:
        refuse(f"shape {dst.shape}, the product has [{m}, {n}]", "dst")
    if tile_position or tile_size:
        _check_tiling(tile_position, tile_size, k, m, stationary, moving)
    if (declared(weights.dtype) == float32) != (declared(data.dtype) == float32):
        refuse(f"{moving.dtype} with {stationary.dtype} stationary; fp32 multiplies only with fp32", "moving")
    product = np.matmul(to_float32(weights, "stationary").T, to_float32(data, "moving")).reshape(dst.shape)
    storage: PsumStorage = dst._storage
    adds = storage.note_matmul(dst, accumulate)
    if adds is False:
        dst._array[...] = product
    elif adds is True:
        dst._array[...] += product
    else:
        dst._array[...] = np.where(adds, dst._array + product, product)
    return Instruction()


def nc_transpose(dst: Any, data: Any, engine: Any = engine.unknown, name: str | None = None) -> Instruction:
    """`dst[f, p] = data[p, f]`, free dimensions flattened, bit for bit; same type.

    Tensor engine: up to [128, 128], SBUF to PSUM. Vector engine: up to [32, 32], SBUF or PSUM on either side. fp8 comes
    out in PSUM in 16-bit containers: `dst` is every second element of a tile.
    """
    source, known = moved(data, "data")
    dst = target(dst)
    partitions, free = source.shape[0], source.size // source.shape[0]
    if dst.shape[0] != free or dst.size != source.size:
        refuse(f"shape {dst.shape}, data {data.shape} transposed is ({free}, {partitions})", "dst")
    if dst.dtype != data.dtype:
        refuse(f"type {dst.dtype}, data has {data.dtype}; a transpose does not convert", "dst")
    by_tensor = free <= 128 and data._storage.buffer is Buffer.sbuf and dst._storage.buffer is Buffer.psum
    by_vector = max(partitions, free) <= _VECTOR_TRANSPOSE
    chosen = choose(engine, _TRANSPOSE_ENGINES)
    if not ((by_tensor and chosen is not _VECTOR) or (by_vector and chosen is not _TENSOR)):
        refuse(
            f"({partitions}, {free}) from {data.buffer!r} to {dst.buffer!r} by {chosen!r}: the Tensor engine takes "
            f"up to (128, 128) from SBUF to PSUM, the Vector engine up to ({_VECTOR_TRANSPOSE}, {_VECTOR_TRANSPOSE})",
            "data",
        )
    _check_containers(dst)
    write(dst, source.reshape(partitions, free).T, None if known is None else known.reshape(partitions, free).T)
    return Instruction()


_TENSOR, _VECTOR = engine.tensor, engine.vector
_TRANSPOSE_ENGINES = (engine.tensor, engine.vector)


def _transpose_mode(
    dst: Any, data: Array, known: Known, identity: Array, accumulate: Any, perf_mode: Any
) -> Instruction:
    found = target(dst)
    k = data.shape[0]
    columns = data.size // k
    if accumulate or perf_mode is not matmul_perf_mode.none:
        refuse("a transpose neither accumulates nor has a perf_mode", "is_transpose")
    if identity.shape != (k, k) or not np.array_equal(identity.astype(np.float32), np.eye(k, dtype=np.float32)):
        refuse(f"{identity.shape}; with is_transpose expected the identity matrix ({k}, {k})", "moving")
    if found._storage.buffer is not Buffer.psum or found.dtype != declared(data.dtype):
        refuse(f"{found.dtype} in {found.buffer!r}; a transpose of {data.dtype} goes to PSUM in that type", "dst")
    if columns > STATIONARY_FREE or found.shape[0] != columns or found.size != data.size:
        refuse(f"shape {found.shape}, stationary {data.shape} transposed is ({columns}, {k}), at most 128 each", "dst")
    _check_containers(found)
    write(found, data.reshape(k, columns).T, None if known is None else known.reshape(k, columns).T)
    return Instruction()


def _check_containers(dst: NkiTensor) -> None:
    array = dst._array
    if array.dtype in FP8 and dst._storage.buffer is Buffer.psum and array.shape[-1] > 1 and array.strides[-1] != 2:
        refuse(
            f"{array.dtype} {array.shape}: fp8 is transposed into 16-bit containers; allocate (partitions, elements, "
            "2) and pass every second element, tile[:, :, 0]",
            "dst",
        )


def _input(value: Any, operand: str) -> Array:
    array = read(value, operand)
    _check_input(value, operand)
    return array


def _check_input(value: Any, operand: str) -> None:
    if value._storage.buffer is not Buffer.sbuf:
        refuse(f"lies in {value.buffer!r}; the Tensor engine reads SBUF", operand)
    if value.dtype not in FLOATS:
        refuse(f"type {value.dtype}; the Tensor engine multiplies floating point", operand)
    if value.dtype == float8_e4m3fn:
        refuse("float8_e4m3fn needs Trn3; Trn2's fp8 is float8_e4m3 (largest value 240)", operand)


def _product_target(dst: Any) -> NkiTensor:
    found = target(dst)
    storage = found._storage
    if not isinstance(storage, PsumStorage):
        refuse(f"lies in {found.buffer!r}; the Tensor engine writes PSUM", "dst")
    if found._array.dtype != float32:
        refuse(f"type {found.dtype}; on Trn2 a product is fp32", "dst")
    start = found._offset % storage.partition_bytes
    last = start + sum(
        stride * (count - 1) for stride, count in zip(found._array.strides[1:], found._array.shape[1:], strict=True)
    )
    if storage.banks > 1 and start // PSUM_BANK_BYTES != last // PSUM_BANK_BYTES:
        refuse(
            f"{found.shape} spans bytes {start} to {last + 4} of each partition; a product must lie within one bank "
            f"of {PSUM_BANK_BYTES} bytes (512 fp32)",
            "dst",
        )
    return found


def _double_row(weights: Array, data: Array, tile_size: tuple[int, ...]) -> tuple[Array, Array]:
    """Both halves of a double_row product as one contraction of twice the length."""
    for operand, array in (("stationary", weights), ("moving", data)):
        if declared(array.dtype) not in FP8 or array.ndim != 3 or array.shape[1] != 2:
            refuse(f"{array.dtype} {array.shape}; double_row takes fp8 of shape [K, 2, free]", operand)
    if tile_size and tile_size[1] != STATIONARY_FREE:
        refuse("double_row has no column tiling", "tile_size")
    if weights.shape[0] != data.shape[0]:
        refuse(
            f"{data.shape} contracts over {data.shape[0]} partitions, stationary {weights.shape} over "
            f"{weights.shape[0]}",
            "moving",
        )
    return weights.reshape(-1, weights.shape[2]), data.reshape(-1, data.shape[2])


def _check_tiling(position: Any, size: Any, k: int, m: int, stationary: NkiTensor, moving: NkiTensor) -> None:
    """Row tiling only: part of the rows of the array, all of its columns."""
    if len(position) != 2 or len(size) != 2:
        refuse(
            f"tile_position {position} and tile_size {size} must both be (row, column), or both be left out",
            "tile_position",
        )
    rows, columns = size
    if rows not in _TILE_ROWS or columns != 128 or position[1] != 0 or position[0] % rows or position[0] + rows > 128:
        refuse(
            f"position {position}, size {size}; rows must be 32, 64 or 128, the row position a multiple of them, "
            "columns 128 from 0",
            "tile_position",
        )
    if k > rows or m > columns:
        refuse(f"operands contract over {k} partitions, the tile has {rows} rows", "tile_size")
    for operand, value in (("stationary", stationary), ("moving", moving)):
        start = value._offset // value._storage.partition_bytes
        if start != position[0]:
            refuse(f"starts at partition {start}, the tile at row {position[0]}", operand)
