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

from recipe.config import Config
from recipe.kernels.adamw import adamw_reference, adamw_scalars, nki_adamw
from recipe.kernels.newton_schulz import (
    POLAR_EXPRESS,
    POLAR_EXPRESS_MARGIN,
    QUINTIC,
    QUINTIC_MARGIN,
    Coefficients,
    NkiNewtonSchulz,
    TorchNewtonSchulz,
)
from recipe.kernels.weight_average import NkiWeightAverage, TorchWeightAverage
from recipe.model import GPT, activation_dtype
from recipe.ranks import Ranks

ADAM_EPS = 1e-10


def make_optimizers(
    config: Config, model: GPT, ranks: Ranks
) -> tuple[list[torch.optim.Optimizer], list[list[nn.Parameter]]]:
    """The two optimizers, and the parameters that each rank owns."""
    matrices, gains = model.matrices(), model.gains()
    tables, head = model.tables(), list(model.head.parameters())
    # A Muon step costs far more than an AdamW step on as many elements, so the two kinds are dealt out separately,
    # and from opposite ends, because the lower ranks get what does not come out even.
    hands = deal(matrices, config.world_size)
    others = deal([*tables, *head, *gains], config.world_size)
    owned = [[*hand, *other] for hand, other in zip(hands, reversed(others), strict=True)]
    mine = {id(parameter) for parameter in owned[ranks.rank]}
    muon = Muon(
        matrices,
        lr=config.matrix_lr,
        momentum=config.matrix_momentum,
        directions=make_directions(config, activation_dtype(config, ranks.device)),
        mine=mine,
    )
    adamw = make_adamw(
        config,
        [
            {"params": tables, "lr": config.embed_lr},
            {"params": head, "lr": config.head_lr},
            {"params": gains, "lr": config.gain_lr, "weight_decay": 0.0},  # decay would pull gains away from 1
        ],
        mine,
    )
    for optimizer in (muon, adamw):
        for group in optimizer.param_groups:
            group["flat_lr"] = group["lr"]
    return [muon, adamw], owned


def set_learning_rate(optimizers: Sequence[torch.optim.Optimizer], multiplier: float) -> None:
    """Set every group's learning rate to `multiplier` times that of the flat part of the schedule."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = group["flat_lr"] * multiplier


def deal(parameters: Sequence[nn.Parameter], world_size: int) -> list[list[nn.Parameter]]:
    """Deal parameters out to ranks, largest first, each to the rank that has least; ties go to the lower rank."""
    hands: list[list[nn.Parameter]] = [[] for _ in range(world_size)]
    loads = [0] * world_size
    for parameter in sorted(parameters, key=lambda p: -p.numel()):
        rank = loads.index(min(loads))
        hands[rank].append(parameter)
        loads[rank] += parameter.numel()
    return hands


class Muon(torch.optim.Optimizer):
    """Muon (Jordan et al., 2024): a step along the semi-orthogonal matrix that is nearest to the Nesterov momentum."""

    def __init__(
        self,
        params: list[nn.Parameter],
        lr: float,
        momentum: float,
        directions: NkiNewtonSchulz | TorchNewtonSchulz,
        mine: set[int],
    ) -> None:
        """`directions`: the iteration that finds them; `mine`: ids of the parameters that this rank updates."""
        super().__init__(params, {"lr": lr, "momentum": momentum})
        self.directions = directions
        self.mine = mine

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Update the parameters that this rank owns."""
        for group in self.param_groups:
            parameters = [parameter for parameter in group["params"] if id(parameter) in self.mine]
            directions = self.directions([self._momentum(p, group["momentum"]) for p in parameters])
            for parameter, direction in zip(parameters, directions, strict=True):
                # Tall matrices get a larger step, so that the effect on the outputs does not depend on the shape.
                step_size = group["lr"] * max(1.0, parameter.size(0) / parameter.size(1)) ** 0.5
                parameter.add_(direction, alpha=-step_size)

    def _momentum(self, parameter: nn.Parameter, momentum: float) -> Tensor:
        gradient = gradient_of(parameter)
        state = self.state[parameter]
        if not state:
            state["momentum"] = torch.zeros_like(gradient)
        state["momentum"].lerp_(gradient, 1.0 - momentum)
        return gradient.lerp(state["momentum"], momentum)


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


def make_adamw(config: Config, groups: list[dict[str, object]], mine: set[int]) -> AdamW | FlatAdamW:
    """The AdamW that the configuration names."""
    betas = (config.adam_beta1, config.adam_beta2)
    if config.adamw == "nki":
        return FlatAdamW(
            groups,
            betas=betas,
            weight_decay=config.weight_decay,
            mine=mine,
            state_dtype=state_dtype(config),
            lnc=config.lnc,
        )
    return AdamW(groups, betas=betas, weight_decay=config.weight_decay, mine=mine)


def state_dtype(config: Config) -> torch.dtype:
    """The dtype of AdamW's state."""
    if config.adam_state == "bfloat16":
        return torch.bfloat16
    return torch.float32


class AdamW(torch.optim.Optimizer):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019), for the parameters that this rank owns."""

    def __init__(
        self, params: list[dict[str, object]], betas: tuple[float, float], weight_decay: float, mine: set[int]
    ) -> None:
        """`params`: groups with their own `lr`; `mine`: ids of the parameters that this rank updates."""
        super().__init__(params, {"betas": betas, "weight_decay": weight_decay})
        self.mine = mine

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Update the parameters that this rank owns."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if id(parameter) not in self.mine:
                    continue
                gradient = parameter.grad
                state = self.state[parameter]
                if not state:
                    state["updates"] = 0
                    state["mean"] = torch.zeros_like(gradient)
                    state["square"] = torch.zeros_like(gradient)
                state["updates"] += 1
                adamw_reference(
                    parameter,
                    gradient,
                    state["mean"],
                    state["square"],
                    updates=state["updates"],
                    lr=group["lr"],
                    decay=group["weight_decay"],
                    betas=group["betas"],
                    eps=ADAM_EPS,
                )


class FlatAdamW(torch.optim.Optimizer):
    """The same by one launch of a kernel: the parameters become views of one flat tensor, and so does their state."""

    def __init__(
        self,
        params: list[dict[str, object]],
        betas: tuple[float, float],
        weight_decay: float,
        mine: set[int],
        state_dtype: torch.dtype,
        lnc: int,
    ) -> None:
        """As for `AdamW`; at least one parameter must be this rank's. `state_dtype`: of mean and square."""
        super().__init__(params, {"betas": betas, "weight_decay": weight_decay})
        self.betas = betas
        self.lnc = lnc
        self.updates = 0
        self.parameters: list[nn.Parameter] = []
        self.segments: list[tuple[int, int]] = []
        self.segment_groups: list[dict[str, Any]] = []
        start = 0
        for group in self.param_groups:
            owned = [parameter for parameter in group["params"] if id(parameter) in mine]
            end = start + sum(parameter.numel() for parameter in owned)
            if owned:
                self.parameters += owned
                self.segments.append((start, end))
                self.segment_groups.append(group)
            start = end
        self.flat = torch.cat([parameter.detach().reshape(-1) for parameter in self.parameters])
        views = torch.split(self.flat, [parameter.numel() for parameter in self.parameters])
        for parameter, view in zip(self.parameters, views, strict=True):
            parameter.data = view.view(parameter.shape)
        self.mean = torch.zeros_like(self.flat, dtype=state_dtype)
        self.square = torch.zeros_like(self.flat, dtype=state_dtype)

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Update the parameters that this rank owns."""
        self.updates += 1
        rates = [(group["lr"], group["weight_decay"]) for group in self.segment_groups]
        nki_adamw(
            parameter=self.flat,
            gradient=torch.cat([gradient_of(parameter).reshape(-1) for parameter in self.parameters]),
            mean=self.mean,
            square=self.square,
            segments=tuple(self.segments),
            scalars=adamw_scalars(rates, self.betas, self.updates),
            betas=self.betas,
            eps=ADAM_EPS,
            lnc=self.lnc,
        )


def gradient_of(parameter: nn.Parameter) -> Tensor:
    """The gradient of a parameter that has one."""
    assert parameter.grad is not None, "step() needs gradients: call backward() first"
    return parameter.grad


class WeightAverage:
    """The moving average of the weights that this rank owns, and their place in the model in the end."""

    def __init__(
        self, parameters: Sequence[nn.Parameter], decay: float, update: NkiWeightAverage | TorchWeightAverage
    ) -> None:
        """`parameters`: this rank's, at least one; `decay`: what is left of a weight's share after one update."""
        self.parameters = list(parameters)
        self.decay = decay
        self.update = update
        self.updates = 0
        self.average = torch.zeros_like(self._values())

    @torch.no_grad()
    def step(self) -> None:
        """Take the weights after an update in."""
        self.updates += 1
        weight = (1.0 - self.decay) / (1.0 - self.decay**self.updates)  # 1 in the first update
        self.update(self.average, self._values(), weight)

    @torch.no_grad()
    def put_in_place(self) -> None:
        """Make the averages the parameters' values; before the first update the parameters stay as they are."""
        if self.updates:
            parts = torch.split(self.average, [parameter.numel() for parameter in self.parameters])
            for parameter, part in zip(self.parameters, parts, strict=True):
                parameter.copy_(part.view(parameter.shape))

    def _values(self) -> Tensor:
        return torch.cat([parameter.detach().reshape(-1) for parameter in self.parameters])


def make_average(config: Config, parameters: Sequence[nn.Parameter]) -> WeightAverage:
    """The moving average of this rank's parameters that the configuration names."""
    return WeightAverage(parameters, decay=config.ema_decay, update=make_average_update(config))


def make_average_update(config: Config) -> NkiWeightAverage | TorchWeightAverage:
    """The average's update that the configuration names."""
    if config.ema == "nki":
        return NkiWeightAverage(lnc=config.lnc)
    return TorchWeightAverage()
