"""Tensors as grids of tiles and blocks: which elements a cell has, where allocated tiles lie, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import numbers, run, same_bits

X = numbers(300, 70)
LEAD = numbers(2, 40, 50)


def hbm(*shape: int) -> Any:
    return nl.ndarray(shape, dtype=nl.float32, buffer=nl.private_hbm)


def copy_by_tiles(x: Any) -> Any:
    """Tile by tile through SBUF."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    source, target = nl.tiles(x, tile_shape=(128, 32)), nl.tiles(out, tile_shape=(128, 32))
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            cell = source[i, j]
            tile = nl.ndarray(cell.element_shape, dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile.data, src=cell.data)
            nisa.dma_copy(dst=target[i, j].data, src=tile.data)
    return out


def copy_by_blocks(x: Any) -> Any:
    """Rows of tiles through memory that `alloc_blocks` laid out."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    shapes = {"tile_shape": (128, 32), "block_shape": (1, 2)}
    source, target = nl.blocks(x, **shapes), nl.blocks(out, **shapes)
    held = nl.alloc_blocks(**shapes, element_shape=x.shape, buffer=nl.sbuf, dtype=x.dtype)
    assert held.shape == source.shape == (3, 2)
    for i in range(held.shape[0]):
        for j in range(held.shape[1]):
            nisa.dma_copy(dst=held[i, j].data, src=source[i, j].data)
    for i in range(held.shape[0]):
        for j in range(held.shape[1]):
            here, there = nl.tiles(held[i, j]), nl.tiles(target[i, j])
            for k in range(here.shape[1]):
                nisa.dma_copy(dst=there[0, k].data, src=here[0, k].data)
    return out


@pytest.mark.parametrize("function", [copy_by_tiles, copy_by_blocks])
def test_every_element_lies_in_one_tile(function: Callable[[Any], Any]) -> None:
    assert same_bits(nki.jit(function)(X), X)


def shown(grid: Any) -> np.ndarray:
    found: np.ndarray = grid.data._array
    return found


def test_a_cell_has_the_elements_of_its_place() -> None:
    def body() -> None:
        tensor = hbm(300, 70)
        tensor._array[...] = X
        grid = nl.tiles(tensor, tile_shape=(128, 32))
        assert (grid.shape, grid.tile_shape, grid.element_shape) == ((3, 3), (128, 32), (300, 70))
        assert (grid.dtype, grid.buffer, grid.index_step_elements) == (nl.float32, nl.private_hbm, (128, 32))
        assert isinstance(grid, nl.NkiGrid)
        assert isinstance(grid, nl.NkiTileGrid)
        last = grid[2, -1]
        assert (last.shape, last.element_shape, last.is_remainder) == ((), (44, 6), True)
        assert same_bits(shown(last), X[256:, 64:])
        assert not grid[0, 1].is_remainder
        assert same_bits(shown(grid[1]), X[128:256])
        assert same_bits(shown(grid[..., 1]), X[:, 32:64])
        assert same_bits(shown(grid[1:, :2]), X[128:, :64])
        assert (grid[1].shape, grid[1:, :2].shape) == ((3,), (2, 2))
        gaps = grid[:, ::2]
        assert (gaps.shape, gaps.element_shape, gaps.index_step_elements) == ((3, 2), (300, 38), (128, 64))
        assert not gaps.is_data_representable
        assert same_bits(shown(gaps[0, 1]), X[:128, 64:])

    run(body)


def test_blocks_group_tiles_and_show_them_again() -> None:
    def body() -> None:
        tensor = hbm(300, 70)
        tensor._array[...] = X
        blocks = nl.blocks(nl.tiles(tensor, tile_shape=(64, 16)), block_shape=(2, 2))
        assert (blocks.shape, blocks.block_shape, blocks.tile_shape) == ((3, 3), (2, 2), (64, 16))
        block = blocks[2, 1]
        assert (block.element_shape, block.is_remainder) == ((44, 32), True)
        assert same_bits(shown(block), X[256:, 32:64])
        inside = nl.tiles(block)
        assert (inside.shape, inside.tile_shape) == ((1, 2), (64, 16))
        assert same_bits(shown(inside[0, 1]), X[256:, 48:64])
        assert nl.blocks(block, block_shape=(1, 1)).shape == (1, 2)

    run(body)


def test_leading_dimensions_of_hbm_are_not_tiled() -> None:
    def body() -> None:
        tensor = hbm(2, 40, 50)
        tensor._array[...] = LEAD
        grid = nl.tiles(tensor, tile_shape=(32, 20))
        assert (grid.shape, grid.element_shape) == ((2, 2, 3), (2, 40, 50))
        assert same_bits(shown(grid[1, 1, 2]), LEAD[1, 32:, 40:])
        assert same_bits(shown(grid[:, 0, 0]), LEAD[:, :32, :20])
        assert same_bits(shown(nl.tiles(nl.blocks(grid[1], block_shape=(1, 2))[0, 1])[0, 0]), LEAD[1, :32, 40:])

    run(body)


def test_tiles_on_chip_lie_row_by_row_each_in_its_place() -> None:
    def body() -> None:
        grid = nl.alloc_tiles(
            tile_shape=(128, 32), element_shape=(300, 70), buffer=nl.sbuf, dtype=nl.bfloat16, name="g"
        )
        cell = grid[2, 1].data
        assert (cell.shape, cell.offset, cell.name, cell.dtype) == ((44, 32), 7 * 32, "g", nl.bfloat16)
        assert grid[0, 2].data.shape == (128, 6)
        row = grid[1].data
        assert (row.shape, row.offset) == ((128, 70), 3 * 32)
        cubes = nl.alloc_tiles(tile_shape=(64, 2, 8), element_shape=(100, 4, 8), buffer=nl.psum, dtype=nl.float32)
        assert cubes.shape == (2, 2, 1)
        assert (cubes[1, 1, 0].data.shape, cubes[1, 1, 0].data.offset) == ((36, 2, 8), 3 * 16)
        placed = nl.alloc_tiles(
            tile_shape=(32, 8), element_shape=(32, 16), buffer=nl.sbuf, dtype=nl.float32, address=(32, 64)
        )
        assert placed[0, 1].data.shape == (32, 8)
        held = nl.tiles(nl.zeros((4, 6), nl.float32), tile_shape=(4, 3))
        assert held[0, 1].data.offset == 3

    run(body)


def tiles(*shape: int, **more: Any) -> Any:
    return nl.tiles(hbm(*shape), **{"tile_shape": (2, 2), **more})


def allocated(*elements: int, tile_shape: Any = (4, 2)) -> Any:
    return nl.alloc_tiles(tile_shape=tile_shape, element_shape=elements, buffer=nl.sbuf, dtype=nl.float32)


CHECKS: dict[str, tuple[Callable[[], Any], str, Callable[[], Any]]] = {
    "cell out of range": (lambda: tiles(4, 6)[2, 0], "index 2 lies outside the 2 cells", lambda: tiles(4, 6)[1, 2]),
    "slice out of range": (lambda: tiles(4, 6)[:, 0:4], "slice 0:4:None of 3 cells", lambda: tiles(4, 6)[:, 0:3]),
    "negative step": (lambda: tiles(4, 6)[:, ::-1], "of 3 cells", lambda: tiles(4, 6)[:, ::2]),
    "too many indices": (lambda: tiles(4, 6)[0, 0, 0], "3 indices for a grid", lambda: tiles(4, 6)[0, 0]),
    "gaps": (lambda: tiles(4, 6)[:, ::2].data, "cells with gaps", lambda: tiles(4, 6)[:, 1:].data),
    "regrouping gaps": (
        lambda: nl.blocks(tiles(4, 6)[:, ::2], block_shape=(1, 2)),
        "cannot be regrouped",
        lambda: nl.blocks(tiles(4, 6)[:, 1:], block_shape=(1, 2)),
    ),
    "several rows on chip": (
        lambda: allocated(8, 6).data,
        "several rows of tiles on chip",
        lambda: allocated(8, 6)[1].data,
    ),
    "several tiles of three dimensions": (
        lambda: allocated(4, 6, 2, tile_shape=(4, 2, 2)).data,
        "several tiles of 3 dimensions",
        lambda: allocated(4, 6, 2, tile_shape=(4, 2, 2))[0, 1, 0].data,
    ),
    "one dimension": (lambda: tiles(4, 6, tile_shape=(2,)), "at least 2 dimensions", lambda: tiles(4, 6)),
    "no tile shape": (lambda: nl.tiles(hbm(4, 6)), "tile_shape: missing", lambda: nl.tiles(tiles(4, 6))),
    "tile of 0": (lambda: tiles(4, 6, tile_shape=(2, 0)), "a tuple of positive ints", lambda: tiles(4, 6)),
    "more dimensions than the tensor": (
        lambda: tiles(4, 6, tile_shape=(2, 2, 2)),
        "3 dimensions for the 2",
        lambda: tiles(4, 4, 6, tile_shape=(2, 2, 2)),
    ),
    "block of another rank": (
        lambda: nl.blocks(tiles(4, 6), block_shape=(1, 1, 1)),
        "block_shape: (1, 1, 1); expected 2",
        lambda: nl.blocks(tiles(4, 6), block_shape=(1, 1)),
    ),
    "untiled partitions": (
        lambda: nl.tiles(nl.zeros((4, 2, 2), nl.float32), tile_shape=(2, 2)),
        "on chip all dimensions are tiled",
        lambda: nl.tiles(nl.zeros((4, 2, 2), nl.float32), tile_shape=(4, 2, 2)),
    ),
    "no tensor": (lambda: nl.tiles([1], tile_shape=(2, 2)), "source: [1]", lambda: tiles(4, 6)),
    "partitions of a tile": (
        lambda: allocated(129, 2, tile_shape=(129, 2)),
        "exceeds architecture",
        lambda: allocated(129, 2),
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_trips_and_its_neighbour_passes(name: str) -> None:
    trips, message, passes = CHECKS[name]
    with pytest.raises(nki.NkiValidationError) as caught:
        run(trips)
    assert message in str(caught.value)
    run(passes)


def test_grids_are_new_in_0_7(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NKI_STAND_IN_VERSION", "0.6")
    for make in (lambda: tiles(4, 6), lambda: allocated(4, 6)):
        with pytest.raises(nki.NkiValidationError, match=r"new in NKI 0\.7"):
            run(make)
    monkeypatch.setenv("NKI_STAND_IN_VERSION", "0.7")
    run(lambda: tiles(4, 6))
