"""The same facts where they decide nothing, and paths that are the run's own."""

import os
from pathlib import Path

import torch


class Key:
    def __init__(self, name):
        self.name = name

    def __hash__(self):
        return hash(self.name)

    def __eq__(self, other):
        return hash(self) == hash(other)


torch.set_num_threads(os.cpu_count() // 2)
print("cpus", os.cpu_count())
if not os.path.exists("out"):
    os.makedirs("out")
if Path("out/final.pt").is_file():
    print("saved")
