from __future__ import annotations
import concurrent.futures
import math
import nki.language as nl
import prepare
import pyarrow.parquet as pq
import torch.nn.functional as F
import torch_neuronx

TEXT = "import einops"
