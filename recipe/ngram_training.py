"""The n-gram model while the network trains: every update's batches are counted once the weights have learned from
them, and a part of the table is made anew.

So what a batch is predicted with was counted from earlier ones, as it is for text that is new: the orders' weights
learn how far to trust it. Text of a second epoch says nothing of that, since the table has it, and is not counted
again. Once all ranks are past their first epoch, the weights stay; the table is made anew once more, from the lowest
order up, and then stays, too.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch import Tensor

from recipe.config import Config
from recipe.kernels.ngram_mix import NgramTable
from recipe.model import GPT, NgramGPT
from recipe.ngram import orders_of
from recipe.ngram_counts import NgramCounts
from recipe.ngram_rows import NgramRows
from recipe.ranks import Ranks

Batches = Iterator[tuple[Tensor, Tensor, dict[str, int]]]


class NgramTraining:
    """Counts the batches that pass by, and keeps the model's table up to date."""

    def __init__(
        self, table: NgramTable, counts: NgramCounts, rows: NgramRows, ranks: Alone | Together, sample: int
    ) -> None:
        """`ranks`: what brings their tensors together; `sample`: of so many rows of a batch one is counted."""
        self.table = table
        self.counts = counts
        self.rows = rows
        self.ranks = ranks
        self.sample = sample
        self.updates = 0
        self.left = rows.parts  # parts to be made until the table stays as it is, once nothing is counted any more
        self.seen: list[Tensor] = []
        self.weight = table.weight.detach().clone()

    def watching(self, batches: Batches) -> Batches:
        """The same batches; they are kept until `learn`."""
        for inputs, targets, state in batches:
            if self.left == 0:
                yield inputs, targets, state
                continue
            first = self.updates % self.sample
            inputs_seen, targets_seen = inputs[first :: self.sample], targets[first :: self.sample]
            rows = torch.cat((inputs_seen, targets_seen[:, -1:].to(inputs.dtype)), 1)
            if state["epoch"] > 1:
                rows = torch.full_like(rows, -1)
            self.seen.append(rows)
            yield inputs, targets, state

    def learn(self) -> None:
        """After an update: count what was seen since the last call, on all ranks, and make the next part of the table
        anew.
        """
        if self.left == 0:
            self._stay()
            return
        seen = self.ranks.of_all(torch.cat(self.seen)).flatten(0, 1)
        self.seen.clear()
        if (seen[:, 0] < 0).all():  # on every rank, and epochs only grow
            if self.left == self.rows.parts:
                self.rows.all_anew()
            self._stay()
            part = self.rows.parts - self.left
            self.left -= 1
        else:
            self.counts.add(seen)
            self.weight = self.table.weight.detach().clone()
            part = self.updates % self.rows.parts
        self.updates += 1
        packed = self.ranks.of_all(torch.from_numpy(self.rows.packed(part)))
        rows = torch.from_numpy(self.rows.put(part, packed.transpose(0, 1).flatten(0, 1).numpy()))
        for buffer, values in (
            (self.table.check, self.rows.check),
            (self.table.follower, self.rows.follower),
            (self.table.probability, self.rows.probability),
        ):
            made = torch.from_numpy(values[rows.numpy()]).to(buffer.device, buffer.dtype)
            buffer.index_copy_(0, rows.to(buffer.device), made)  # an index, so that every part is the same graph

    def _stay(self) -> None:
        """Take back what an update made of the weights."""
        self.table.weight.detach().copy_(self.weight)


class Alone:
    """The tensors of one rank."""

    def of_all(self, mine: Tensor) -> Tensor:
        """[N, ...] -> [1, N, ...] on the host."""
        return mine.cpu().unsqueeze(0)


class Together:
    """The tensors of all ranks, by one collective."""

    def __init__(self, world_size: int, device: torch.device) -> None:
        """`device`: where collectives take place."""
        self.world_size = world_size
        self.device = device

    def of_all(self, mine: Tensor) -> Tensor:
        """[N, ...] -> [ranks, N, ...] on the host, the same on every rank."""
        mine = mine.to(self.device)
        found = [torch.empty_like(mine) for _ in range(self.world_size)]
        dist.all_gather(found, mine)
        return torch.stack(found).cpu()


def make_ngram_training(config: Config, ranks: Ranks, model: GPT) -> NgramTraining:
    """The training of the n-gram model that the configuration names."""
    assert isinstance(model, NgramGPT)
    counts = NgramCounts(
        orders_of(config.ngram_orders),
        slots=config.ngram_slots,
        followers=config.ngram_followers,
        vocabulary=config.vocab_size,
        rank=ranks.rank,
        world_size=config.world_size,
    )
    rows = NgramRows(counts, parts=config.ngram_refresh)
    return NgramTraining(
        model.mix, counts, rows, ranks=make_gathering(config, ranks.device), sample=config.ngram_sample
    )


def make_gathering(config: Config, device: torch.device) -> Alone | Together:
    """What brings the tensors of the configured ranks together."""
    if config.world_size > 1:
        return Together(world_size=config.world_size, device=device)
    return Alone()
