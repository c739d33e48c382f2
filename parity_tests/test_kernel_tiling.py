"""Tiles: every row once, at most 128 partitions, and the same number of tiles for every core."""

from __future__ import annotations

import pytest

from recipe.kernels.tiling import COLUMNS, PARTITIONS, even_parts, position_tiles, row_tiles

ROWS = [1, 2, 3, 64, 100, 127, 128, 129, 255, 256, 257, 258, 1000, 1023, 1024, 1025, 4097]


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("width", [1, 2, 64, 100, 512, 4096])
@pytest.mark.parametrize("rows", ROWS)
def test_row_tiles_cover_every_row_once(rows: int, width: int, cores: int) -> None:
    per_core = [row_tiles(rows, width, core, cores) for core in range(cores)]
    seen = [row for tiles in per_core for first, count, pack in tiles for row in range(first, first + count * pack)]
    assert sorted(seen) == list(range(rows))
    for tiles in per_core:
        assert all(1 <= count <= PARTITIONS and pack * width <= max(width, COLUMNS) for _, count, pack in tiles)
        assert {pack for _, _, pack in tiles[:-1]} <= {per_core[0][0][2]}
        assert all(pack in (1, per_core[0][0][2]) for _, _, pack in tiles)
    if rows >= cores:
        assert len({len(tiles) for tiles in per_core}) == 1


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("width", [64, 300, 4096])
@pytest.mark.parametrize("batch", [1, 2, 3, 8])
@pytest.mark.parametrize("positions", [1, 2, 3, 100, 128, 129, 257, 1000])
def test_position_tiles_cover_every_row_once(batch: int, positions: int, width: int, cores: int) -> None:
    per_core = [position_tiles(batch, positions, width, core, cores) for core in range(cores)]
    seen = [
        (row, position)
        for tiles in per_core
        for first_row, rows, first, count in tiles
        for row in range(first_row, first_row + rows)
        for position in range(first, first + count)
    ]
    assert sorted(seen) == [(row, position) for row in range(batch) for position in range(positions)]
    for tiles in per_core:
        assert all(1 <= count <= PARTITIONS and rows * width <= max(width, COLUMNS) for _, rows, _, count in tiles)
        assert [first for _, _, first, _ in tiles] == sorted(first for _, _, first, _ in tiles)
    if batch % cores == 0 or positions >= cores:
        assert len({len(tiles) for tiles in per_core}) == 1


def test_narrow_rows_are_packed_and_wide_ones_are_not() -> None:
    assert row_tiles(1024, 64, 0, 1) == [(0, 128, 8)]
    assert row_tiles(1024, 64, 1, 2) == [(512, 128, 4)]
    assert row_tiles(256, 512, 0, 1) == [(0, 128, 1), (128, 128, 1)]
    assert row_tiles(257, 64, 0, 2) == [(0, 63, 2), (126, 3, 1)]
    assert row_tiles(257, 64, 1, 2) == [(129, 63, 2), (255, 2, 1)]
    assert position_tiles(8, 128, 128, 1, 2) == [(4, 4, 0, 128)]
    assert position_tiles(1, 128, 128, 1, 2) == [(0, 1, 64, 64)]


def test_parts_are_even() -> None:
    assert even_parts(10, 3) == [(0, 3), (3, 3), (6, 4)]
    assert even_parts(1, 3) == [(0, 1)]
    assert even_parts(0, 2) == even_parts(0, 0) == []
