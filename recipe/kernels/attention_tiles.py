"""How attention cuts its work: which heads a core takes together, which keys some queries see, and tiles of both.

Heads that lie side by side are loaded and stored together, as many as SBUF holds: a DMA of few bytes in a row is slow.
"""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl

from recipe.kernels.products import BANK, PARTITIONS, parts, transposed
from recipe.kernels.tiling import share

KEPT_BYTES = 120 * 1024  # of each partition of SBUF, for what stays there of the heads that are taken together


def runs_of_core(q: Any, element_bytes: int) -> list[tuple[int, tuple[int, int]]]:
    """This core's heads, as many side by side as SBUF holds: (row of the batch, (first head, end)).

    `element_bytes`: what stays in SBUF for each position and channel of a head.
    """
    batch, positions, heads, width = q.shape
    head_bytes = len(parts(positions, PARTITIONS)) * width * element_bytes
    together = max(1, KEPT_BYTES // head_bytes)
    first, end = share(batch * heads, nl.program_id(axis=0), nl.num_programs(axes=0))
    runs = []
    for row in range(batch):
        left, right = max(first - row * heads, 0), min(end - row * heads, heads)
        runs += [(row, (left + start, left + stop)) for start, stop in parts(right - left, together)]
    return runs


def head_columns(heads: int, width: int) -> list[tuple[int, int]]:
    """Where each of some heads lies, side by side: (first column, end)."""
    return parts(heads * width, width)


def load_positions(x: Any, row: int, taken: tuple[int, int], first: int, last: int) -> Any:
    """Some positions of the heads `taken` of one row, side by side: a tile [positions, heads * D]."""
    left, right = taken
    tile = nl.ndarray(shape=(last - first, (right - left) * x.shape[3]), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[row, first:last, left:right, 0 : x.shape[3]])
    return tile


def load_tiles(x: Any, row: int, taken: tuple[int, int]) -> list[Any]:
    """All positions of the heads `taken` of one row, in tiles [up to 128, heads * D]."""
    return [load_positions(x, row, taken, first, last) for first, last in parts(x.shape[1], PARTITIONS)]


def store_tiles(target: Any, row: int, taken: tuple[int, int], sums: Any, scale: float) -> None:
    """Write what `sums` [128, tiles, heads * D] hold, times `scale`, to the heads `taken` of one row."""
    left, right = taken
    for tile, (first, last) in enumerate(parts(target.shape[1], PARTITIONS)):
        out = nl.ndarray(shape=(last - first, sums.shape[2]), dtype=target.dtype, buffer=nl.sbuf)
        nisa.activation(dst=out, op=nl.copy, data=sums[0 : last - first, tile, 0 : sums.shape[2]], scale=scale)
        nisa.dma_copy(dst=target[row, first:last, left:right, 0 : target.shape[3]], src=out)


def turned_heads(tiles: list[Any], columns: list[tuple[int, int]]) -> list[list[Any]]:
    """Tiles [positions, heads * D], each head turned around by itself: tiles [up to 128 of D, positions]."""
    return [transposed([tile[0 : tile.shape[0], start:end] for tile in tiles]) for start, end in columns]


def key_chunks(first: int, last: int, window: int) -> list[tuple[int, int]]:
    """Runs of up to 512 keys, each from a multiple of 128, that hold all that queries `first` to `last` - 1 see."""
    lowest = 0 if window == 0 else max(0, first - window + 1) // PARTITIONS * PARTITIONS
    return [(lowest + start, lowest + end) for start, end in parts(last - lowest, BANK)]


def hides(first: int, count: int, start: int, end: int, window: int) -> bool:
    """Whether any of `count` queries from `first` on must not see one of the keys `start` to `end` - 1."""
    return end - 1 > first or (window > 0 and start < first + count - window)


def hide(tile: Any, first: int, start: int, window: int, value: float) -> Any:
    """A tile [queries from `first`, keys from `start`] with `value` where the query must not see the key."""
    count, length = tile.shape
    shown = nl.ndarray(shape=(count, length), dtype=tile.dtype, buffer=nl.sbuf)
    nisa.affine_select(  # query - key >= 0
        dst=shown,
        pattern=[[-1, length]],
        offset=first - start,
        channel_multiplier=1,
        on_true_tile=tile,
        on_false_value=value,
        cmp_op=nl.greater_equal,
    )
    if window == 0 or start >= first + count - window:
        return shown
    near = nl.ndarray(shape=(count, length), dtype=tile.dtype, buffer=nl.sbuf)
    nisa.affine_select(  # key - query + window > 0
        dst=near,
        pattern=[[1, length]],
        offset=start - first + window,
        channel_multiplier=-1,
        on_true_tile=shown,
        on_false_value=value,
        cmp_op=nl.greater,
    )
    return near
