"""Row tiles: every row once, at most 128 in a tile, the same number of tiles for every core."""

from __future__ import annotations

import pytest

from recipe.kernels.tiling import PARTITIONS, row_tiles


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("groups", [1, 2, 3, 8])
@pytest.mark.parametrize("rows", [1, 2, 3, 100, 127, 128, 129, 255, 256, 257, 1000])
def test_tiles_cover_every_row_once(groups: int, rows: int, cores: int) -> None:
    per_core = [row_tiles(groups, rows, core, cores) for core in range(cores)]
    seen = [(group, row) for tiles in per_core for group, first, count in tiles for row in range(first, first + count)]
    assert sorted(seen) == [(group, row) for group in range(groups) for row in range(rows)]
    assert all(1 <= count <= PARTITIONS for tiles in per_core for _, _, count in tiles)
    if groups * rows >= cores and (groups * rows) % cores == 0:
        assert len({len(tiles) for tiles in per_core}) == 1


def test_two_cores_share_one_group_evenly() -> None:
    assert row_tiles(1, 257, 0, 2) == [(0, 0, 64), (0, 64, 64)]
    assert row_tiles(1, 257, 1, 2) == [(0, 128, 64), (0, 192, 65)]
