"""An average of the weights, which takes their place in the end: moving, or of a stretch."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from recipe.config import Config
from recipe.kernels.weight_average import NkiWeightAverage, TorchWeightAverage


class WeightAverage:
    """The moving average of the weights that this rank owns, and their place in the model in the end."""

    def __init__(
        self, parameters: Sequence[Tensor], decay: float, update: NkiWeightAverage | TorchWeightAverage
    ) -> None:
        """`parameters`: this rank's, at least one; `decay`: what is left of a weight's share after one update.

        With 1 all updates weigh the same.
        """
        self.parameters = list(parameters)
        self.decay = decay
        self.update = update
        self.total = 0.0  # of the shares of what was taken in, the last one's being 1
        self.average = torch.zeros_like(self.values())

    @torch.no_grad()
    def step(self) -> None:
        """Take the weights after an update in."""
        self.total = self.decay * self.total + 1.0
        self.update(self.average, self.values(), 1.0 / self.total)

    @torch.no_grad()
    def put_in_place(self) -> None:
        """Make the averages the parameters' values; before the first update the parameters stay as they are."""
        if self.total:
            parts = torch.split(self.average, [parameter.numel() for parameter in self.parameters])
            for parameter, part in zip(self.parameters, parts, strict=True):
                parameter.copy_(part.view(parameter.shape))

    def values(self) -> Tensor:
        """The weights as they are, flat."""
        return torch.cat([parameter.detach().reshape(-1) for parameter in self.parameters])


class FloatWeightAverage(WeightAverage):
    """The same, in fp32, of weights of which some are in bf16."""

    def values(self) -> Tensor:
        """The weights as they are, flat and in fp32."""
        return torch.cat([parameter.detach().reshape(-1).float() for parameter in self.parameters])


class RowAverage:
    """The moving average of a table of which an update moves few rows: only these are touched, and the rest at the end.

    With decay d the weights of t updates have the average A_t = sum over u of d^(t - u) w_u / S_t, where S_t is
    1 + d + ... + d^(t - 1). As long as a row stays what it is, w, this is A_t = w + (A_s - w) d^(t - s) S_s / S_t: a
    row's average is brought from s, where the row moved last, to t in one step, just before it moves again.
    """

    def __init__(self, table: Tensor, decay: float) -> None:
        """`table` [rows, width], the same on all ranks; `decay`: what is left of a row's share after one update."""
        self.table = table
        self.decay = decay
        self.updates = 0
        self.average = torch.zeros_like(self.values())
        self.moved = torch.zeros_like(self.average[:, 0])  # the update up to which a row's average is right

    @torch.no_grad()
    def before(self, rows: Tensor) -> None:
        """Bring rows [N] up to date, which the next update is about to move."""
        self.average[rows] = self.values_now(self.average[rows], self.table[rows], self.moved[rows])

    @torch.no_grad()
    def after(self, rows: Tensor) -> None:
        """Take an update in that has moved rows [N], and no other."""
        self.updates += 1
        average = self.average[rows]
        self.average[rows] = average + (self.table[rows] - average) / self.sum_of_shares()
        self.moved[rows] = float(self.updates)

    def restart(self) -> None:
        """Begin anew: what was taken in so far does not count."""
        self.updates = 0
        self.moved.zero_()

    @torch.no_grad()
    def finish(self) -> None:
        """Bring all rows up to date."""
        self.average = self.values_now(self.average, self.table, self.moved)

    @torch.no_grad()
    def put_in_place(self) -> None:
        """Make the finished averages the table's rows; before the first update they stay as they are."""
        if self.updates:
            self.table.copy_(self.average)

    def values(self) -> Tensor:
        """The rows as they are."""
        return self.table.detach()

    def values_now(self, average: Tensor, rows: Tensor, moved: Tensor) -> Tensor:
        """The averages [N, width] of rows [N, width] after all updates, from those after the updates `moved` [N]."""
        return rows + (average - rows) * self.share_left(moved).unsqueeze(1)

    def share_left(self, moved: Tensor) -> Tensor:
        """d^(t - s) S_s / S_t for s in `moved` and t updates: 0 for a row that no update has moved."""
        updates = max(1, self.updates)
        if self.decay == 1.0:
            return moved / updates
        rate = math.log(self.decay)
        return torch.exp((updates - moved) * rate) * torch.expm1(moved * rate) / math.expm1(updates * rate)

    def sum_of_shares(self) -> float:
        """S_t."""
        if self.decay == 1.0:
            return self.updates
        return (1.0 - self.decay**self.updates) / (1.0 - self.decay)


@torch.no_grad()
def blend(average: WeightAverage | RowAverage, share: float) -> None:
    """Mix the average with the last weights: `share` of it, and the rest of them."""
    average.average.lerp_(average.values(), 1.0 - share)


def make_average(config: Config, parameters: Sequence[Tensor]) -> WeightAverage:
    """The moving average of this rank's parameters that the configuration names."""
    if config.rounds_parameters:
        return FloatWeightAverage(parameters, decay=config.ema_decay, update=make_average_update(config))
    return WeightAverage(parameters, decay=config.ema_decay, update=make_average_update(config))


def make_average_update(config: Config) -> NkiWeightAverage | TorchWeightAverage:
    """The average's update that the configuration names."""
    if config.ema == "nki":
        return NkiWeightAverage(lnc=config.lnc)
    return TorchWeightAverage()
