"""Training batches, from the kit."""

from __future__ import annotations

from collections.abc import Iterator

import prepare
import torch
from torch import Tensor

from recipe.config import Config


def training_batches(config: Config, device: torch.device) -> Iterator[tuple[Tensor, Tensor, dict[str, int]]]:
    """Endless (inputs int32 [B, T], targets int64 [B, T], {"epoch": n}) of this rank, on the device.

    Raises ValueError when the kit's tokenizer has another vocabulary than the configuration says.
    """
    tokenizer = prepare.ensure_tokenizer()
    if tokenizer.get_vocab_size() != config.vocab_size:
        raise ValueError(
            f"the kit's tokenizer has {tokenizer.get_vocab_size()} tokens, configured for {config.vocab_size}: "
            f"set vocab_size to {tokenizer.get_vocab_size()}"
        )
    batches: Iterator[tuple[Tensor, Tensor, dict[str, int]]] = prepare.make_dataloader(
        tokenizer, batch_size=config.batch_size, seq_len=config.seq_len, split="train", device=device
    )
    return batches
