"""What one rank runs in test_recipe_hosts.py, under torchrun: `python -m parity_tests.recipe_hosts NAME DIRECTORY`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import prepare
import torch

from parity_tests.recipe_samples import on_cpu
from recipe.config import Config
from recipe.train import train

KNOBS: dict[str, Any] = {
    "world_size": 2, "vocab_size": 2048, "depth": 2, "batch_size": 2, "num_steps": 4, "seq_len": 32,
    "bigram_rows": 97, "bigram_width": 8, "clip": 0.2, "ema_decay": 0.5,
}  # fmt: skip
SHARDING = {"sharded": "fsdp", "whole": "none"}


def config_of(name: str) -> Config:
    """The run in shards, or that without them."""
    return on_cpu(**KNOBS, sharding=SHARDING[name])


def run(name: str, directory: Path) -> None:
    """Train; the rank leaves its weights. One group for a process: torchrun's store remembers the first one's ranks."""
    torch.set_num_threads(1)
    (directory / name).mkdir(exist_ok=True)
    os.chdir(directory / name)
    rank = prepare.get_dist_info()[1]
    torch.save(train(config_of(name)).state_dict(), f"{rank}.pt")


if __name__ == "__main__":
    run(sys.argv[1], Path(sys.argv[2]))
