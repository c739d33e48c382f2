"""Sequences with a period, each its own."""

import torch

from .config import GPTConfig


class Batches:
    def __init__(self, config: GPTConfig, rank: int = 0):
        self.config = config
        self.generator = torch.Generator().manual_seed(config.seed * 1000 + rank)

    def __iter__(self):
        return self

    def __next__(self):
        c = self.config
        period = int(torch.randint(2, 7, (1,), generator=self.generator))
        pattern = torch.randint(0, c.vocab, (c.batch_size, period), generator=self.generator)
        rows = pattern.repeat(1, c.seq_len // period + 2)[:, : c.seq_len + 1]
        return rows[:, :-1], rows[:, 1:].contiguous()
