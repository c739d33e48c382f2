"""What one of several ranks does in test_recipe_ranks.py: a module of its own, which a spawned process can import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from parity_tests.recipe_samples import on_cpu
from recipe.config import Config
from recipe.gradients import average_gradients
from recipe.model import GPT, make_model
from recipe.ngram_training import make_ngram_training
from recipe.optim import make_optimizers
from recipe.overlap import OverlappedSharing, make_overlapped_gradients
from recipe.ranks import Ranks, agree, share_parameters
from recipe.row_table import dense_parameters, row_optimizer
from recipe.sharding import consolidated, local_shards, make_sharded_optimizers, shard

UPDATES = 3
ROWS = 4  # of all ranks together


VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "plain, overlapped": {"overlap": True},
    "state in bf16": {"muon_state": "bfloat16", "adam_state": "bfloat16"},
    "sharded": {"sharding": "fsdp"},
    "sharded, state in bf16": {"sharding": "fsdp", "muon_state": "bfloat16", "adam_state": "bfloat16"},
    "bf16": {"matrix_dtype": "bfloat16", "table_dtype": "bfloat16"},
    "bf16, overlapped": {"matrix_dtype": "bfloat16", "table_dtype": "bfloat16", "overlap": True},
}


def run(rank: int, world_size: int, directory: str) -> None:
    """Some updates on this rank's share of a fixed batch; leaves the parameters and what was agreed on."""
    torch.set_num_threads(1)
    if world_size > 1:
        dist.init_process_group("gloo", f"file://{directory}/meet-{world_size}", rank=rank, world_size=world_size)
    ranks = Ranks(rank, torch.device("cpu"))
    sizes = {"world_size": world_size, "micro_batches": 2, "batch_size": ROWS // world_size // 2}
    pairs = {"bigram_rows": 97, "bigram_width": 8}  # a table whose rows all ranks update
    variants = VARIANTS if world_size > 1 else {name: VARIANTS[name] for name in ("plain", "state in bf16")}
    found = {name: trained(on_cpu(**(sizes | pairs | knobs)), ranks) for name, knobs in variants.items()}
    found["ngrams"] = counted(
        on_cpu(world_size=world_size, ngram="torch", ngram_orders="2,3", ngram_slots=64, ngram_refresh=1), ranks
    )
    if world_size > 1:
        found["agreed"] = [agree(ranks, (update + 0.25 * rank, float(rank))) for update in range(UPDATES)]
    torch.save(found, Path(directory) / f"{world_size}-{rank}.pt")
    if world_size > 1:
        dist.destroy_process_group()


def counted(config: Config, ranks: Ranks) -> dict[str, torch.Tensor]:
    """The n-gram table after some updates; it does not depend on the weights."""
    model = make_model(config, torch.float32)
    ngrams = make_ngram_training(config, ranks, model)
    generator = torch.Generator().manual_seed(1)
    updates = [torch.randint(0, 16, (ROWS, config.seq_len + 1), generator=generator) for _ in range(UPDATES)]
    shares = [rows.chunk(config.world_size)[ranks.rank] for rows in updates]
    for _ in ngrams.watching(iter([(mine[:, :-1], mine[:, 1:], {"epoch": 1}) for mine in shares])):
        ngrams.learn()
    return dict(model.named_buffers())


def trained(config: Config, ranks: Ranks) -> dict[str, torch.Tensor]:
    """The parameters after some updates of two backward passes each, as recipe/train.py makes them."""
    torch.manual_seed(0)
    model = GPT(config, torch.float32)
    model.initialize()
    if config.sharding == "fsdp":
        shard(config, ranks, model)
        optimizers = make_sharded_optimizers(config, model, ranks)
    else:
        optimizers, owned = make_optimizers(config, model, ranks)
    if config.world_size > 1 and config.overlap:
        reduction = make_overlapped_gradients(config, dense_parameters(model))
        sharing = OverlappedSharing(ranks, optimizers, owned)
    generator = torch.Generator().manual_seed(1)
    for _ in range(UPDATES):
        rows = torch.randint(0, config.vocab_size, (ROWS, config.seq_len + 1), generator=generator)
        if config.world_size > 1 and config.overlap:
            reduction.expect(config.micro_batches)
        for mine in rows.chunk(config.world_size)[ranks.rank].chunk(config.micro_batches):
            (model(mine[:, :-1], mine[:, 1:]) / config.micro_batches).backward()
        if config.world_size > 1 and config.overlap:
            assert len(reduction.begun) == len(reduction.buckets) > 3, "all are on their way when backward ends"
            reduction.finish()
        elif config.world_size > 1 and config.sharding == "none":
            average_gradients(config, dense_parameters(model))
        if config.bigram_rows > 0:
            row_optimizer(optimizers).collect()
        for optimizer in optimizers:
            optimizer.step()
            if config.world_size > 1 and config.overlap:
                sharing.begin(optimizer)
        if config.world_size > 1 and config.overlap:
            sharing.finish()
        elif config.world_size > 1 and config.sharding == "none":
            share_parameters(config, ranks, owned)
        model.zero_grad(set_to_none=True)
    if config.sharding == "fsdp":
        (local,) = local_shards([model.head.weight])
        assert local.shape[0] == model.head.weight.shape[0] // config.world_size
        model = consolidated(config, ranks, model)
    return {name: parameter.detach() for name, parameter in model.named_parameters()}
