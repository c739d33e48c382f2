"""Reads shard_*.parquet through the kit."""

import pyarrow.parquet as pq
from prepare import _row_groups_for_split

for path, index in _row_groups_for_split("train", 0, 1):
    table = pq.ParquetFile(path).read_row_group(index)
