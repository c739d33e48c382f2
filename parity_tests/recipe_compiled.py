"""What one of two ranks does in test_recipe_compile.py: a module of its own, which a spawned process can import."""

from __future__ import annotations

import json
import os
from pathlib import Path

import prepare
import torch

from parity_tests.recipe_samples import small
from recipe.train import train

KNOBS = {
    "world_size": 2, "depth": 1, "width": 32, "batch_size": 2, "seq_len": 32, "micro_batches": 2, "num_steps": 6,
    "batch_warmup_fraction": 0.8, "rotary": "torch", "mlp": "torch", "loss": "torch", "compile": True,
}  # fmt: skip
"""The batch has its full size from the first update that is charged."""


def run(rank: int, directory: str) -> None:
    """Train; leave the graphs that were compiled by the end of each update, and after one pass of another shape."""
    torch.set_num_threads(1)
    os.chdir(directory)
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": Path("port").read_text(encoding="utf-8")}
    from torch_neuronx import compiler  # it asks the environment how many ranks there are

    graphs: list[int] = []
    prepare.record_step_boundary = lambda step: graphs.append(len(compiler.graphs))
    model = train(small(**KNOBS))
    stats = {name: dict(counted) for name, counted in torch._dynamo.utils.counters.items()}
    if rank == 0:
        model(*[torch.zeros(1, 16, dtype=dtype, device="neuron") for dtype in (torch.int32, torch.int64)])
    told = {"graphs": graphs, "other": len(compiler.graphs), "breaks": stats.get("graph_break", {})}
    told |= {"recompiles": stats.get("recompiles", {}), "names": list(model.state_dict())}
    Path(f"{rank}.json").write_text(json.dumps(told), encoding="utf-8")
