"""The optimizers: Muon for the matrices of the blocks, AdamW for embedding, head and gains.

Each parameter is updated by one rank only, its owner; `ranks.share_parameters` then sends it to the others. Both
optimizers hold all parameters of their kind and skip those that another rank owns, so that state exists once in the
whole run.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from recipe.config import Config
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
from recipe.ranks import Ranks

ADAM_EPS = 1e-10


def make_optimizers(
    config: Config, model: GPT, ranks: Ranks
) -> tuple[list[torch.optim.Optimizer], list[list[nn.Parameter]]]:
    """The two optimizers, and the parameters that each rank owns."""
    matrices, gains = model.matrices(), model.gains()
    embed, head = model.tables()
    # A Muon step costs far more than an AdamW step on as many elements, so the two kinds are dealt out separately,
    # and from opposite ends, because the lower ranks get what does not come out even.
    hands = deal(matrices, config.world_size)
    others = deal([embed, head, *gains], config.world_size)
    owned = [[*hand, *other] for hand, other in zip(hands, reversed(others), strict=True)]
    mine = {id(parameter) for parameter in owned[ranks.rank]}
    muon = Muon(
        matrices,
        lr=config.matrix_lr,
        momentum=config.matrix_momentum,
        directions=make_directions(config, activation_dtype(config, ranks.device)),
        mine=mine,
    )
    adamw = AdamW(
        [
            {"params": [embed], "lr": config.embed_lr},
            {"params": [head], "lr": config.head_lr},
            {"params": gains, "lr": config.gain_lr, "weight_decay": 0.0},  # decay would pull gains away from 1
        ],
        betas=(config.adam_beta1, config.adam_beta2),
        weight_decay=config.weight_decay,
        mine=mine,
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
        gradient = parameter.grad
        assert gradient is not None, "step() needs gradients: call backward() first"
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
            beta1, beta2 = group["betas"]
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
                state["mean"].lerp_(gradient, 1.0 - beta1)
                state["square"].lerp_(gradient.square(), 1.0 - beta2)
                mean = state["mean"] / (1.0 - beta1 ** state["updates"])
                square = state["square"] / (1.0 - beta2 ** state["updates"])
                parameter.mul_(1.0 - group["lr"] * group["weight_decay"])
                parameter.add_(mean / (square.sqrt() + ADAM_EPS), alpha=-group["lr"])
