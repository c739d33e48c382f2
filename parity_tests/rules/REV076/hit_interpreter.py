"""Options of the interpreter, its hash seed, what the host has, and whether a file lies there."""

import os
import sys
import tempfile
from pathlib import Path

import torch

if __debug__:  # expect
    print("checked")
LAYERS = 4 if hash("model") % 2 else 2  # expect
torch.manual_seed(hash("seed"))  # expect
HEADS = 8 if sys.warnoptions else 4  # expect
WORKERS = 4 if os.cpu_count() > 8 else 2  # expect
THREADS = torch.get_num_threads()  # expect
if THREADS > 8:
    LAYERS = 3
if tempfile.gettempdir() == "/fast":  # expect
    LAYERS = 5
if os.path.exists("fast.flag"):  # expect
    LAYERS = 6
WIDTH = 512 if Path("wide.flag").is_file() else 256  # expect
