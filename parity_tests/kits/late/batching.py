"""What the late kit keeps beside prepare.py: shards, packing, and a bar that shows how far it is."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def write(path: Path, documents: list[str], size: int) -> None:
    """A parquet shard of row groups of `size` documents."""
    pq.write_table(pa.table({"id": list(range(len(documents))), "text": documents}), path, row_group_size=size)


def row_groups(folder: Path) -> list[tuple[Path, int]]:
    """Every (shard, row group) of a split."""
    shards = sorted(folder.glob("*.parquet"))
    return [(shard, group) for shard in shards for group in range(pq.ParquetFile(shard).num_row_groups)]


def read(shard: Path, group: int) -> tuple[str, ...]:
    """The documents of a row group."""
    return tuple(pq.ParquetFile(shard).read_row_group(group, columns=["text"])["text"].to_pylist())


def fill(rows: int, length: int, documents: Iterator[tuple[int, ...]]) -> list[list[int]]:
    """Rows of at least `length` tokens: each document goes to the row that is the shortest so far."""
    heap = [(0, index, []) for index in range(rows)]
    while heap[0][0] < length:
        size, index, row = heap[0]
        document = next(documents)
        row.extend(document)
        heapq.heapreplace(heap, (size + len(document), index, row))
    return [row[:length] for _, _, row in sorted(heap, key=lambda entry: entry[1])]


def bar(done: int, total: int) -> None:
    """Draw progress over the last line of standard error."""
    sys.stderr.write(
        f"\r  eval {100 * done // total:3d}%|{'#' * (20 * done // total):20}| {done}/{total} [00:00, ?it/s]"
    )
    sys.stderr.flush()
