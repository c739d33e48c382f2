from pathlib import Path

import pyarrow.dataset as ds

shards = sorted(Path("data").glob("**/*.parquet"))  # expect
table = ds.dataset("data")  # expect
