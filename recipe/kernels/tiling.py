"""How kernels cut rows into tiles of at most 128 partitions and share the tiles between the cores of an LNC."""

from __future__ import annotations

PARTITIONS = 128


def row_tiles(groups: int, rows: int, core: int, cores: int) -> list[tuple[int, int, int]]:
    """The tiles of one core, as (group, first row, row count), for `groups` blocks of `rows` rows each.

    Every row belongs to exactly one tile of one core. Tiles of a block differ by at most one row, and their number is
    chosen so that all cores get equally many (the cores of an LNC must have the same control flow), unless there are
    fewer rows than cores. Tiles are ordered by first row and then by group: what depends on the row only can be loaded
    once for all groups.
    """
    per_group = (rows + PARTITIONS - 1) // PARTITIONS
    if (groups * per_group) % cores != 0 and per_group < rows:
        per_group += 1  # an LNC has one core or two, so that one tile more per group comes out even
    per_core = (groups * per_group + cores - 1) // cores
    tiles = []
    for index in range(core * per_core, min((core + 1) * per_core, groups * per_group)):
        part, group = index // groups, index % groups
        first = part * rows // per_group
        tiles.append((group, first, (part + 1) * rows // per_group - first))
    return tiles
