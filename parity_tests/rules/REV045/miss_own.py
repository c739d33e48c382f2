import glob
import os
from pathlib import Path

import pyarrow.parquet as pq

from prepare import _row_groups_for_split

for path, group in _row_groups_for_split("train", 0, 1):
    table = pq.ParquetFile(path).read_row_group(group)
OUT = Path("out")
left = sorted(OUT.glob("*.pt")), os.listdir("out"), glob.glob("out/*.txt")
print("reads *.parquet files")


class Search:
    def glob(self):
        return self.glob()


Search().glob()
