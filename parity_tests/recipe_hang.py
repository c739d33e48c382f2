"""What one of two ranks does in test_recipe_hang.py: a module of its own, which a spawned process can import."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import prepare
import torch

from parity_tests.recipe_samples import on_cpu
from recipe import train as trainer
from recipe.config import Config
from recipe.model import GPT, make_model

HANGS_IN = 6  # the update; in the one of number 4 start-up's checkpoint was saved


KNOBS: dict[str, Any] = {"vocab_size": 2048, "depth": 1, "batch_size": 2, "num_steps": 8, "stall_seconds": 15.0}


def run(rank: int, directory: str) -> None:
    """Train; rank 0 never comes back from the loader in an update. Rank 1 leaves its weights after each update."""
    torch.set_num_threads(1)
    os.chdir(directory)
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": Path("port").read_text(encoding="utf-8")}
    made: list[GPT] = []

    def make(config: Config, dtype: torch.dtype) -> GPT:
        made.append(make_model(config, dtype))
        return made[-1]

    def boundary(step: int) -> None:
        if rank == 1:
            torch.save(made[0].state_dict(), f"{step + 1}.pt")

    def until_hung(*args: Any, **named: Any) -> Iterator[Any]:
        for update, batch in enumerate(load(*args, **named)):
            if (rank, update) == (0, HANGS_IN):
                time.sleep(3600)
            yield batch

    load, prepare.make_dataloader, prepare.record_step_boundary = prepare.make_dataloader, until_hung, boundary
    trainer.make_model = make  # type: ignore[attr-defined]
    trainer.train(on_cpu(world_size=2, **KNOBS))
