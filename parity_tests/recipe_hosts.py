"""What one of two hosts runs in test_recipe_hosts.py, under its own torchrun."""

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


def sharded() -> Config:
    """The run in shards."""
    return on_cpu(**KNOBS, sharding="fsdp")


def run(directory: Path) -> None:
    """Train in shards and without them; the ranks leave the weights of both."""
    torch.set_num_threads(1)
    for name, config in (("sharded", sharded()), ("whole", on_cpu(**KNOBS))):
        (directory / name).mkdir(exist_ok=True)
        os.chdir(directory / name)
        rank = prepare.get_dist_info()[1]
        torch.save(train(config).state_dict(), f"{rank}.pt")


if __name__ == "__main__":
    run(Path(sys.argv[1]))
