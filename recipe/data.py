"""Training batches, from the kit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import prepare
import torch
from torch import Tensor

from recipe.config import Config

Batches = Iterator[tuple[Tensor, Tensor, dict[str, int]]]
"""(inputs int32 [B, T], targets int64 [B, T], {"epoch": n}) without end."""


def training_batches(config: Config, device: torch.device) -> Batches:
    """The batches of this rank, on the device.

    Raises ValueError when the kit's tokenizer has another vocabulary than the configuration says.
    """
    tokenizer = prepare.ensure_tokenizer()
    if tokenizer.get_vocab_size() != config.vocab_size:
        raise ValueError(
            f"the kit's tokenizer has {tokenizer.get_vocab_size()} tokens, configured for {config.vocab_size}: "
            f"set vocab_size to {tokenizer.get_vocab_size()}"
        )
    if config.row_pool > 0:
        return shuffled(config, loaded(config, tokenizer, torch.device("cpu")), device)
    return loaded(config, tokenizer, device)


def loaded(config: Config, tokenizer: Any, device: torch.device) -> Batches:
    """The batches in the order of the kit's loader, on the device. What it gave is overwritten by its next batch."""
    batches: Batches = prepare.make_dataloader(
        tokenizer, batch_size=config.batch_size, seq_len=config.seq_len, split="train", device=device
    )
    return batches


def shuffled(config: Config, batches: Batches, device: torch.device) -> Batches:
    """Batches of rows drawn at random, without replacement, from a pool of those that were read last, on the device.

    The pool grows with use, one batch at each draw, up to `row_pool` rows: nothing is read ahead of the clock.
    """
    generator = torch.Generator().manual_seed(config.seed)
    rows: list[tuple[Tensor, Tensor]] = []
    kept = 0
    for inputs, targets, state in batches:
        rows += zip(inputs.clone(), targets.clone(), strict=True)  # the loader writes into its own again
        if len(rows) < min(kept + config.batch_size, config.row_pool) + config.batch_size:
            continue
        order = torch.randperm(len(rows), generator=generator).tolist()
        drawn = [rows[place] for place in order[: config.batch_size]]
        rows = [rows[place] for place in order[config.batch_size :]]
        kept = len(rows)
        yield (
            torch.stack([row for row, _ in drawn]).to(device),
            torch.stack([row for _, row in drawn]).to(device),
            state,
        )
