"""How kernels cut their work into tiles of at most 128 partitions, and share the tiles between the cores of an LNC.

An instruction takes about as long for 64 elements per partition as for one, so narrow rows are packed side by side.
All cores of an LNC must have the same control flow: they get equally many tiles, whose sizes may differ.
"""

from __future__ import annotations

PARTITIONS = 128
COLUMNS = 512  # elements per partition up to which rows are packed; 2 KiB of SBUF in fp32


def row_tiles(rows: int, width: int, core: int, cores: int) -> list[tuple[int, int, int]]:
    """The tiles of one core over `rows` rows of `width` elements: (first row, partitions, rows per partition).

    Every row belongs to exactly one tile of one core. All tiles have the same number of rows per partition, except that
    a last tile with one row per partition takes what is left over.
    """
    start, stop = share(rows, core, cores)
    fewest, most = rows // cores, (rows + cores - 1) // cores
    per_partition = min(max(1, COLUMNS // width), (most + PARTITIONS - 1) // PARTITIONS, PARTITIONS // 2)
    whole = fewest // per_partition  # partitions that every core can fill
    if fewest < most and whole * per_partition == fewest:
        whole = max(0, whole - 1)  # else one core would have a row left over and the other none
    parts = (whole + PARTITIONS - 1) // PARTITIONS
    tiles = [(start + first * per_partition, count, per_partition) for first, count in even_parts(whole, parts)]
    left_over = stop - start - whole * per_partition
    if left_over > 0:
        tiles.append((stop - left_over, left_over, 1))
    return tiles


def position_tiles(batch: int, positions: int, width: int, core: int, cores: int) -> list[tuple[int, int, int, int]]:
    """The tiles of one core over [batch, positions] rows of `width` elements, one position to a partition.

    As (first row of the batch, rows of the batch, first position, positions): the rows of the batch lie side by side.
    Cores share the batch where it comes out even, else the positions. Tiles are ordered by position, so that what
    depends on it can be kept from tile to tile.
    """
    row, last_row = 0, batch
    position, last_position = 0, positions
    most = positions
    if batch % cores == 0:
        row, last_row = share(batch, core, cores)
    else:
        position, last_position = share(positions, core, cores)
        most = (positions + cores - 1) // cores
    side_by_side = max(1, COLUMNS // width)
    packs = (last_row - row + side_by_side - 1) // side_by_side
    tiles = []
    for first, count in even_parts(last_position - position, (most + PARTITIONS - 1) // PARTITIONS):
        for first_row, packed in even_parts(last_row - row, packs):
            tiles.append((row + first_row, packed, position + first, count))
    return tiles


def element_tiles(total: int, widest: int, core: int, cores: int) -> list[tuple[int, int, int]]:
    """The tiles of one core over `total` elements that lie one after the other: (first, partitions, per partition).

    Every element belongs to exactly one tile of one core; a partition takes at most `widest` of them. What does not
    fill 128 partitions of every core goes onto one partition each.
    """
    each = total // (PARTITIONS * cores)
    start, filled = core * each * PARTITIONS, cores * each * PARTITIONS
    parts = even_parts(each, (each + widest - 1) // widest)
    tiles = [(start + first * PARTITIONS, PARTITIONS, count) for first, count in parts]
    low, high = share(total - filled, core, cores)
    if high > low:
        tiles.append((filled + low, 1, high - low))
    return tiles


def share(total: int, core: int, cores: int) -> tuple[int, int]:
    """This core's part of `total` things, as (first, end); the lower core gets what does not come out even."""
    return (core * total + cores - 1) // cores, ((core + 1) * total + cores - 1) // cores


def even_parts(total: int, parts: int) -> list[tuple[int, int]]:
    """`total` things in `parts` parts as even as can be: (first, length); empty ones are left out."""
    ends = [(part + 1) * total // parts for part in range(parts)]
    return [(first, end - first) for first, end in zip([0, *ends], ends, strict=False) if end > first]
