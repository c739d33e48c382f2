"""N-gram counts: the table that the logits get a bias from, made of the batches of the first updates.

The table says how much likelier a token is behind a context than on its own:

    table[h, v] = log((count(h, v) + SMOOTHING share(v)) / (count(h) + SMOOTHING)) - log share(v)

with share(v) the smoothed share of v among all counted tokens. A context that was never seen has zeros. Counting is
training, so it happens within updates, where the contest charges it.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch import Tensor

from recipe.config import Config
from recipe.model import GPT, NgramGPT
from recipe.ngram import contexts_of

SMOOTHING = 4.0  # tokens' worth of belief that the context means nothing

Batches = Iterator[tuple[Tensor, Tensor, dict[str, int]]]


class NgramCounts:
    """Counts what passes by until it is asked for the table."""

    def __init__(self, config: Config) -> None:
        self.order = config.ngram_order
        self.contexts = config.ngram_contexts
        self.vocabulary = config.vocab_size
        self.counts: Tensor | None = torch.zeros(self.contexts * self.vocabulary)

    def counting(self, batches: Batches) -> Batches:
        """The same batches; those that are taken before the table is made are counted."""
        for inputs, targets, state in batches:
            if self.counts is not None:
                contexts = contexts_of(inputs.cpu(), self.order, self.contexts)
                pairs = (contexts.long() * self.vocabulary + targets.cpu()).flatten()
                self.counts.index_add_(0, pairs, torch.ones(pairs.numel()))
            yield inputs, targets, state

    def fill(self, config: Config, model: GPT) -> None:
        """Make the model's table of what all ranks have counted, and stop counting."""
        assert self.counts is not None, "the table is made already"
        assert isinstance(model, NgramGPT)
        counts = self.counts.view(self.contexts, self.vocabulary).to(model.mix.table.device)
        self.counts = None
        if config.world_size > 1:
            dist.all_reduce(counts)
        model.mix.table.copy_(smoothed(counts))


def smoothed(counts: Tensor) -> Tensor:
    """Counts [contexts, V] -> the table, as above."""
    alone = counts.sum(0) + 1.0
    share = alone / alone.sum()
    behind = (counts + SMOOTHING * share) / (counts.sum(1, keepdim=True) + SMOOTHING)
    return behind.log() - share.log()
