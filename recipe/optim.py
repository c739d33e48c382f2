"""The optimizers: Muon for the matrices of the blocks, AdamW for embeddings, head and gains.

Each parameter is updated by one rank only, its owner; `ranks.share_parameters` then sends it to the others. Both
optimizers hold all parameters of their kind and skip those that another rank owns, so that state exists once in the
whole run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from recipe.adamw import make_adamw
from recipe.config import Config
from recipe.gradients import gradient_of
from recipe.kernels.newton_schulz import (
    POLAR_EXPRESS,
    POLAR_EXPRESS_MARGIN,
    QUINTIC,
    QUINTIC_MARGIN,
    Coefficients,
    NkiNewtonSchulz,
    TorchNewtonSchulz,
)
from recipe.model import GPT, activation_dtype
from recipe.ownership import deal
from recipe.ranks import Ranks
from recipe.rounding import dtype_named, round_parameters
from recipe.row_table import make_row_optimizer, row_tables


def make_optimizers(
    config: Config, model: GPT, ranks: Ranks
) -> tuple[list[torch.optim.Optimizer], list[list[nn.Parameter]]]:
    """The optimizers, and the parameters that each rank owns."""
    matrices, groups = model.matrices(), groups_of_adamw(config, model)
    owned = deal(config, matrices, [parameter for group in groups for parameter in group["params"]])
    mine = {id(parameter) for parameter in owned[ranks.rank]}
    muon = make_muon(
        config,
        matrices,
        lr=config.matrix_lr,
        momentum=config.matrix_momentum,
        decay=config.matrix_decay,
        directions=make_directions(config, activation_dtype(config, ranks.device)),
        mine=mine,
    )
    adamw = make_adamw(config, groups, mine)
    if config.rounds_parameters:
        round_parameters(config, model)  # the optimizers have copied what this rank owns
    return with_rows(config, model, [muon, adamw]), owned


def with_rows(config: Config, model: GPT, optimizers: list[torch.optim.Optimizer]) -> list[torch.optim.Optimizer]:
    """These optimizers and that of a table of pairs, if there is one; each keeps its rates for the schedule."""
    if config.bigram_rows > 0:
        (rows,) = row_tables(model)
        optimizers = [*optimizers, make_row_optimizer(config, rows, lr=config.bigram_lr)]
    note_flat_rates(optimizers)
    return optimizers


def groups_of_adamw(config: Config, model: GPT) -> list[dict[str, Any]]:
    """What AdamW updates, each group at its own rate."""
    gains = model.gains()
    if config.bigram_rows > 0:
        (rows,) = row_tables(model)
        gains = [parameter for parameter in gains if parameter is not rows.weight]
    return [
        {"params": model.tables(), "lr": config.embed_lr},
        {"params": list(model.head.parameters()), "lr": config.head_lr},
        {"params": gains, "lr": config.gain_lr, "weight_decay": 0.0},  # decay would pull gains away from 1
    ]


def note_flat_rates(optimizers: Sequence[torch.optim.Optimizer]) -> None:
    """Keep each group's learning rate, which is that of the flat part of the schedule."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["flat_lr"] = group["lr"]


def set_learning_rate(optimizers: Sequence[torch.optim.Optimizer], multiplier: float) -> None:
    """Set every group's learning rate to `multiplier` times that of the flat part of the schedule."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = group["flat_lr"] * multiplier


def make_muon(
    config: Config,
    matrices: list[nn.Parameter],
    lr: float,
    momentum: float,
    decay: float,
    directions: NkiNewtonSchulz | TorchNewtonSchulz,
    mine: set[int],
) -> Muon:
    """The Muon that the configuration names; the matrices are still in fp32."""
    if config.matrix_dtype == "bfloat16":
        return MasterMuon(matrices, lr, momentum, decay, directions, make_nesterov(config), mine)
    return Muon(matrices, lr, momentum, decay, directions, make_nesterov(config), mine)


def make_nesterov(config: Config) -> Nesterov | RoundedNesterov:
    """What Muon follows, for parameters and state of the dtypes that the configuration names."""
    if config.matrix_dtype == "bfloat16" or config.muon_state == "bfloat16":
        return RoundedNesterov(dtype_named(config.muon_state))
    return Nesterov()


class Muon(torch.optim.Optimizer):
    """Muon (Jordan et al., 2024): a step along the semi-orthogonal matrix that is nearest to the Nesterov momentum, and
    decoupled weight decay (as Liu et al., 2025, arXiv:2502.16982, add to it).
    """

    def __init__(
        self,
        params: list[nn.Parameter],
        lr: float,
        momentum: float,
        decay: float,
        directions: NkiNewtonSchulz | TorchNewtonSchulz,
        nesterov: Nesterov | RoundedNesterov,
        mine: set[int],
    ) -> None:
        """`decay`: `lr` times it is the share of a matrix that goes in an update; `directions`: the iteration that
        finds them; `mine`: ids of the parameters that this rank updates.
        """
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": decay})
        self.directions = directions
        self.nesterov = nesterov
        self.mine = mine

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Update the parameters that this rank owns."""
        for group in self.param_groups:
            parameters = [parameter for parameter in group["params"] if id(parameter) in self.mine]
            directions = self.directions([self.followed(p, group["momentum"]) for p in parameters])
            for parameter, direction in zip(parameters, directions, strict=True):
                self.advance(parameter, direction, group)

    def followed(self, parameter: nn.Parameter, momentum: float) -> Tensor:
        """A parameter's momentum, with its gradient taken in."""
        return self.nesterov(gradient_of(parameter), self.state[parameter], momentum)

    def advance(self, parameter: nn.Parameter, direction: Tensor, group: dict[str, Any]) -> None:
        """Update a parameter, with the rates of its group."""
        # Tall matrices get a larger step, so that the effect on the outputs does not depend on the shape.
        step_size = group["lr"] * max(1.0, parameter.size(0) / parameter.size(1)) ** 0.5
        self.move(parameter, direction, -step_size, 1.0 - group["lr"] * group["weight_decay"])

    def move(self, parameter: nn.Parameter, direction: Tensor, size: float, kept: float) -> None:
        """Keep a share of a parameter, and add `size` times the direction to it."""
        parameter.mul_(kept).add_(direction, alpha=size)


class MasterMuon(Muon):
    """Muon for parameters in bf16: their owner keeps them in fp32, too, and updates that (see `MasterAdamW`)."""

    def __init__(
        self,
        params: list[nn.Parameter],
        lr: float,
        momentum: float,
        decay: float,
        directions: NkiNewtonSchulz | TorchNewtonSchulz,
        nesterov: Nesterov | RoundedNesterov,
        mine: set[int],
    ) -> None:
        """As for `Muon`; the parameters are still in fp32."""
        super().__init__(params, lr, momentum, decay, directions, nesterov, mine)
        for parameter in params:
            if id(parameter) in mine:
                self.state[parameter]["master"] = parameter.detach().clone()

    def move(self, parameter: nn.Parameter, direction: Tensor, size: float, kept: float) -> None:
        """Keep a share of the parameter as it is in fp32, add `size` times the direction to it, and round that."""
        master = self.state[parameter]["master"]
        master.mul_(kept).add_(direction, alpha=size)
        parameter.copy_(master)


class Nesterov:
    """The Nesterov momentum of a parameter's gradients: their moving mean, and the last one in front of it."""

    def __call__(self, gradient: Tensor, state: dict[str, Any], momentum: float) -> Tensor:
        """Take a gradient into a parameter's state; returns what to follow."""
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(gradient)
        state["momentum"].lerp_(gradient, 1.0 - momentum)
        return gradient.lerp(state["momentum"], momentum)


class RoundedNesterov:
    """The same whose mean is kept in a dtype of its own; the arithmetic is in fp32."""

    def __init__(self, dtype: torch.dtype) -> None:
        """`dtype`: of the mean."""
        self.dtype = dtype

    def __call__(self, gradient: Tensor, state: dict[str, Any], momentum: float) -> Tensor:
        """Take a gradient into a parameter's state; returns what to follow."""
        gradient = gradient.float()
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(gradient, dtype=self.dtype)
        mean = state["momentum"].float().lerp(gradient, 1.0 - momentum)
        state["momentum"].copy_(mean)
        return gradient.lerp(mean, momentum)


def make_directions(config: Config, dtype: torch.dtype) -> NkiNewtonSchulz | TorchNewtonSchulz:
    """The Newton-Schulz iteration that the configuration names, by products in `dtype`."""
    coefficients: Coefficients = QUINTIC
    margin = QUINTIC_MARGIN
    if config.muon_steps == "polar_express":
        coefficients = POLAR_EXPRESS
        margin = POLAR_EXPRESS_MARGIN
    if config.muon == "nki":
        return NkiNewtonSchulz(coefficients=coefficients, margin=margin, dtype=dtype, lnc=config.lnc)
    return TorchNewtonSchulz(coefficients=coefficients, margin=margin, dtype=dtype)
