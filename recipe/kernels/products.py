"""How kernels bring their operands into the layout of the Tensor engine.

A product contracts over partitions, at most 128 at a time, so an operand whose rows lie on partitions has to be turned
around if its columns are what the product sums over. The Tensor engine does that itself, 128 x 128 elements at a time
and bit for bit; up to four of its results share one bank of PSUM and leave it together.
"""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl

from recipe.kernels.tiling import even_parts, share

PARTITIONS = 128
BANK = 512  # columns of fp32 that one bank of PSUM holds, and the most that a product has
GROUP_BYTES = 96 * 1024  # of each partition of SBUF, for what a group of rows keeps there
GROUP_TILES = 4  # tiles of 128 rows in a group: each has its own bank of PSUM
LONGEST = 2048  # columns that are loaded at once to be turned around


def parts(total: int, longest: int) -> list[tuple[int, int]]:
    """`total` things in runs of `longest`, the last one shorter if need be: (first, end)."""
    return [(first, min(first + longest, total)) for first in range(0, total, longest)]


def load(source: Any) -> Any:
    """A tile in SBUF with the shape, type and elements of a view of HBM."""
    tile = nl.ndarray(shape=source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def load_parts(source: Any, first: int, end: int) -> list[Any]:
    """Columns `first` to `end` of a matrix [K, N] in HBM, in tiles of up to 128 rows: one for each product over K."""
    return [load(source[top:bottom, first:end]) for top, bottom in parts(source.shape[0], PARTITIONS)]


def transposed(tiles: list[Any]) -> list[Any]:
    """Tiles [P, F] that lie below each other, turned around: tiles [up to 128 of F, sum of P], one below the other."""
    width, dtype = tiles[0].shape[1], tiles[0].dtype
    lengths = [tile.shape[0] for tile in tiles]
    found = []
    for first, end in parts(width, PARTITIONS):
        turned = nl.ndarray(shape=(end - first, sum(lengths)), dtype=dtype, buffer=nl.sbuf)
        start = 0
        for group, last in parts(len(tiles), BANK // PARTITIONS):
            columns = sum(lengths[group:last])
            bank = nl.ndarray(shape=(end - first, columns), dtype=dtype, buffer=nl.psum)
            column = 0
            for tile in tiles[group:last]:
                length = tile.shape[0]
                nisa.nc_transpose(
                    dst=bank[0 : end - first, column : column + length],
                    data=tile[0:length, first:end],
                    engine=nisa.engine.tensor,
                )
                column += length
            nisa.tensor_copy(dst=turned[0 : end - first, start : start + columns], src=bank)
            start += columns
        found.append(turned)
    return found


def transposed_blocks(tile: Any) -> list[Any]:
    """A tile [P, up to 512], turned around block by block: tiles [up to 128, P], which share one allocation."""
    count, length = tile.shape
    blocks = parts(length, PARTITIONS)
    shape = (PARTITIONS, len(blocks), count)
    bank = nl.ndarray(shape=shape, dtype=tile.dtype, buffer=nl.psum)
    turned = nl.ndarray(shape=shape, dtype=tile.dtype, buffer=nl.sbuf)
    for block, (left, right) in enumerate(blocks):
        nisa.nc_transpose(
            dst=bank[0 : right - left, block, 0:count], data=tile[0:count, left:right], engine=nisa.engine.tensor
        )
    for first, end, height in even_blocks(length):
        nisa.tensor_copy(  # by the Scalar engine: around here the Vector engine has more to do
            dst=turned[0:height, first:end, 0:count],
            src=bank[0:height, first:end, 0:count],
            engine=nisa.engine.scalar,
        )
    return [turned[0 : right - left, block, 0:count] for block, (left, right) in enumerate(blocks)]


def even_blocks(length: int) -> list[tuple[int, int, int]]:
    """Blocks of 128 that `length` things fill, and the one that the rest begins: (first, end, things in a block)."""
    whole, rest = divmod(length, PARTITIONS)
    filled = [(0, whole, PARTITIONS)] if whole else []
    return [*filled, (whole, whole + 1, rest)] if rest else filled


def product(stationary: list[Any], moving: list[Any], rows: tuple[int, int], columns: tuple[int, int]) -> Any:
    """sum over k of stationary[k][:, rows].T @ moving[k][:, columns], in a bank of PSUM: [rows, columns] in fp32."""
    (top, bottom), (first, end) = rows, columns
    found = nl.ndarray(shape=(bottom - top, end - first), dtype=nl.float32, buffer=nl.psum)
    for k, (weights, data) in enumerate(zip(stationary, moving, strict=True)):
        depth = weights.shape[0]
        nisa.nc_matmul(
            dst=found, stationary=weights[0:depth, top:bottom], moving=data[0:depth, first:end], accumulate=k > 0
        )
    return found


def row_groups(rows: int, tile_bytes: int, most_bytes: int) -> list[list[tuple[int, int]]]:
    """This core's tiles of up to 128 rows, (first, last), in groups that keep `most_bytes` or less in SBUF.

    `tile_bytes`: what a tile keeps in each partition. Every core has as many groups and tiles, if it has rows at all.
    """
    core, cores = nl.program_id(axis=0), nl.num_programs(axes=0)
    start, stop = share(rows, core, cores)
    most = (rows + cores - 1) // cores
    runs = even_parts(stop - start, (most + PARTITIONS - 1) // PARTITIONS)
    tiles = [(start + first, start + first + count) for first, count in runs]
    together = max(1, most_bytes // tile_bytes)
    return [tiles[first:end] for first, end in parts(len(tiles), together)]


def turned_bytes(x: Any) -> int:
    """What 128 rows of x, turned around, take in each partition of SBUF."""
    return len(parts(x.shape[1], PARTITIONS)) * PARTITIONS * bytes_of(x.dtype)


def bytes_of(dtype: Any) -> int:
    """Bytes of a number."""
    return 4 if dtype == nl.float32 else 2


def turned_rows(x: Any, group: list[tuple[int, int]]) -> list[Any]:
    """A group of tiles of rows, turned around: [up to 128 columns, rows of the group] each."""
    turned = []
    for left, right in parts(x.shape[1], LONGEST):
        turned += transposed([load(x[first:last, left:right]) for first, last in group])
    return turned


def write_output(turned: list[Any], weight: Any, group: list[tuple[int, int]], y: Any) -> None:
    """y = x W of a group of tiles of rows, 512 columns of y at a time, from the group's columns of x, turned around."""
    for left, right in parts(y.shape[1], BANK):
        write_columns(turned, weight, group, y, left, right)


def write_columns(turned: list[Any], weight: Any, group: list[tuple[int, int]], y: Any, left: int, right: int) -> None:
    """Columns `left` to `right` of y, up to one bank of PSUM for each tile of rows; W is read once for all."""
    start = group[0][0]
    sums = [nl.ndarray(shape=(last - first, right - left), dtype=nl.float32, buffer=nl.psum) for first, last in group]
    for k, (top, bottom) in enumerate(parts(weight.shape[0], PARTITIONS)):
        moving = load(weight[top:bottom, left:right])
        for total, (first, last) in zip(sums, group, strict=True):
            nisa.nc_matmul(
                dst=total,
                stationary=turned[k][0 : bottom - top, first - start : last - start],
                moving=moving,
                accumulate=k > 0,
            )
    for total, (first, last) in zip(sums, group, strict=True):
        out = nl.ndarray(shape=(last - first, right - left), dtype=y.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=out, src=total)
        nisa.dma_copy(dst=y[first:last, left:right], src=out)
