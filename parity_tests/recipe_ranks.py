"""What one of several ranks does in test_recipe_ranks.py: a module of its own, which a spawned process can import."""

from __future__ import annotations

from pathlib import Path

import torch
import torch.distributed as dist

from parity_tests.recipe_samples import on_cpu
from recipe.gradients import average_gradients
from recipe.model import GPT
from recipe.optim import make_optimizers
from recipe.ranks import Ranks, agree, share_parameters

UPDATES = 3
ROWS = 4  # of all ranks together


def run(rank: int, world_size: int, directory: str) -> None:
    """Some updates on this rank's share of a fixed batch; leaves the parameters and what was agreed on."""
    torch.set_num_threads(1)
    if world_size > 1:
        dist.init_process_group("gloo", f"file://{directory}/meet-{world_size}", rank=rank, world_size=world_size)
    config = on_cpu(world_size=world_size, depth=2)
    ranks = Ranks(rank, torch.device("cpu"))
    torch.manual_seed(0)
    model = GPT(config, torch.float32)
    model.initialize()
    optimizers, owned = make_optimizers(config, model, ranks)
    generator = torch.Generator().manual_seed(1)
    agreed = []
    for update in range(UPDATES):
        rows = torch.randint(0, config.vocab_size, (ROWS, config.seq_len + 1), generator=generator)
        mine = rows.chunk(world_size)[rank]
        model(mine[:, :-1], mine[:, 1:]).backward()
        if world_size > 1:
            average_gradients(config, list(model.parameters()))
        for optimizer in optimizers:
            optimizer.step()
        if world_size > 1:
            share_parameters(config, ranks, owned)
        model.zero_grad(set_to_none=True)
        if world_size > 1:
            agreed.append(agree(ranks, (update + 0.25 * rank, float(rank))))
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    torch.save({"parameters": parameters, "agreed": agreed}, Path(directory) / f"{world_size}-{rank}.pt")
    if world_size > 1:
        dist.destroy_process_group()
