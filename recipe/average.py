"""An average of the weights, which takes their place in the end: moving, or of a stretch."""

from __future__ import annotations

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


@torch.no_grad()
def blend(average: WeightAverage, share: float) -> None:
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
