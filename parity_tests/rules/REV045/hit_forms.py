import glob
import os
from glob import iglob as find
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq

DATA = Path(os.environ["NEURON_COMPETITION_R1_CACHE_DIR"])
a = os.listdir(DATA)  # expect
b = list(os.scandir(DATA))  # expect
c = list(os.walk("data"))  # expect
d = glob.glob(f"{DATA}/*")  # expect
e = list(find("data/shard_*"))  # expect
f = list(DATA.iterdir())  # expect
g = list(DATA.rglob("shard_*"))  # expect
h = list(Path("data").glob("*"))  # expect
i = ds.dataset(DATA)  # expect
j = pq.ParquetDataset(DATA)  # expect
k = "data/fineweb_train_*.bin"  # expect
l = getattr(os, "list" + "dir")(DATA)  # expect
