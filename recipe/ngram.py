"""N-gram contexts: how the last tokens become a row of a table."""

from __future__ import annotations

import torch
from torch import Tensor

MULTIPLIER = 31_337  # a prime; times MAX_CONTEXTS it stays below 2^31, in case the device computes in 32 bits
MAX_CONTEXTS = 65_536


def contexts_of(tokens: Tensor, order: int, contexts: int) -> Tensor:
    """Tokens [B, T] -> the row of the table [B, T] that predicts what follows: a hash of the last `order` - 1 tokens,
    where a sequence has so many, else of what it has.
    """
    mixed = tokens.int()
    for back in range(1, order - 1):
        before = torch.zeros_like(mixed)
        before[:, back:] = tokens[:, :-back].int() + 1
        mixed = (mixed % contexts) * MULTIPLIER + before
    return mixed % contexts
