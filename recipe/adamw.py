"""AdamW, for tables and gains: parameter by parameter on torch, or all of them by one launch of a kernel."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from recipe.config import Config
from recipe.gradients import gradient_of
from recipe.kernels.adamw import adamw_reference, adamw_scalars, nki_adamw
from recipe.rounding import dtype_named

ADAM_EPS = 1e-10


def make_adamw(config: Config, groups: list[dict[str, object]], mine: set[int]) -> AdamW | FlatAdamW:
    """The AdamW that the configuration names; the parameters are still in fp32."""
    betas, decay = (config.adam_beta1, config.adam_beta2), config.weight_decay
    if config.adamw == "nki":
        state_dtype = dtype_named(config.adam_state)
        if config.table_dtype == "bfloat16":
            return FlatMasterAdamW(groups, betas, decay, mine, state_dtype=state_dtype, lnc=config.lnc)
        return FlatAdamW(groups, betas, decay, mine, state_dtype=state_dtype, lnc=config.lnc)
    if config.table_dtype == "bfloat16":
        return MasterAdamW(groups, betas, decay, mine, state_dtype=dtype_named(config.adam_state))
    if config.adam_state == "bfloat16":
        return RoundedAdamW(groups, betas, decay, mine, state_dtype=torch.bfloat16)
    return AdamW(groups, betas=betas, weight_decay=decay, mine=mine)


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
                if id(parameter) in self.mine:
                    self.update(parameter, group)

    def update(self, parameter: nn.Parameter, group: dict[str, Any]) -> None:
        """Update one parameter."""
        gradient = gradient_of(parameter)
        state = self.state[parameter]
        if not state:
            state["updates"] = 0
            state["mean"] = torch.zeros_like(gradient)
            state["square"] = torch.zeros_like(gradient)
        state["updates"] += 1
        step_of(group, state["updates"], parameter, gradient, state["mean"], state["square"])


def step_of(
    group: dict[str, Any], updates: int, weight: Tensor, gradient: Tensor, mean: Tensor, square: Tensor
) -> None:
    """The `updates`-th step of a weight, with the rates of its group; changes weight, mean and square, all fp32."""
    adamw_reference(
        weight,
        gradient,
        mean,
        square,
        updates=updates,
        lr=group["lr"],
        decay=group["weight_decay"],
        betas=group["betas"],
        eps=ADAM_EPS,
    )


class RoundedAdamW(AdamW):
    """AdamW whose state is kept in another dtype than that of its arithmetic, which is fp32."""

    def __init__(
        self,
        params: list[dict[str, object]],
        betas: tuple[float, float],
        weight_decay: float,
        mine: set[int],
        state_dtype: torch.dtype,
    ) -> None:
        """As for `AdamW`; `state_dtype`: of mean and square."""
        super().__init__(params, betas, weight_decay, mine)
        self.state_dtype = state_dtype

    def update(self, parameter: nn.Parameter, group: dict[str, Any]) -> None:
        """Update one parameter."""
        self.move(parameter, parameter, group)

    def move(self, parameter: nn.Parameter, weight: Tensor, group: dict[str, Any]) -> None:
        """Update `weight`, in fp32, by the gradient and the state of a parameter."""
        gradient = gradient_of(parameter).float()
        state = self.state[parameter]
        if "updates" not in state:
            state["updates"] = 0
            state["mean"] = torch.zeros_like(gradient, dtype=self.state_dtype)
            state["square"] = torch.zeros_like(gradient, dtype=self.state_dtype)
        state["updates"] += 1
        mean, square = state["mean"].float(), state["square"].float()
        step_of(group, state["updates"], weight, gradient, mean, square)
        state["mean"].copy_(mean)
        state["square"].copy_(square)


class MasterAdamW(RoundedAdamW):
    """AdamW for parameters of which some are in bf16: their owner keeps all of them in fp32, too, and updates that.

    An update is often less than half of a bf16 parameter's last digit, and would be lost: so what is updated is a
    master in fp32 (Micikevicius et al., arXiv:1710.03740), and the parameter is that, rounded. To round at random would
    need no master, but random numbers of its own for every parameter, wherever it is updated; and a master costs 4
    bytes an element only once in the whole run, since an element has one owner.
    """

    def __init__(
        self,
        params: list[dict[str, object]],
        betas: tuple[float, float],
        weight_decay: float,
        mine: set[int],
        state_dtype: torch.dtype,
    ) -> None:
        """As for `RoundedAdamW`; the parameters are still in fp32."""
        super().__init__(params, betas, weight_decay, mine, state_dtype)
        for group in self.param_groups:
            for parameter in group["params"]:
                if id(parameter) in mine:
                    self.state[parameter]["master"] = parameter.detach().clone()

    def update(self, parameter: nn.Parameter, group: dict[str, Any]) -> None:
        """Update the parameter as it is in fp32, and round that."""
        master = self.state[parameter]["master"]
        self.move(parameter, master, group)
        parameter.copy_(master)


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
        self.attach([view.view(parameter.shape) for parameter, view in zip(self.parameters, views, strict=True)])
        self.mean = torch.zeros_like(self.flat, dtype=state_dtype)
        self.square = torch.zeros_like(self.flat, dtype=state_dtype)

    def attach(self, views: list[Tensor]) -> None:
        """Make the parameters views of the flat tensor."""
        for parameter, view in zip(self.parameters, views, strict=True):
            parameter.data = view

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Update the parameters that this rank owns."""
        self.update([gradient_of(parameter).reshape(-1) for parameter in self.parameters])

    def update(self, gradients: list[Tensor]) -> None:
        """Update the flat tensor by the gradients of its parts."""
        self.updates += 1
        rates = [(group["lr"], group["weight_decay"]) for group in self.segment_groups]
        nki_adamw(
            parameter=self.flat,
            gradient=torch.cat(gradients),
            mean=self.mean,
            square=self.square,
            segments=tuple(self.segments),
            scalars=adamw_scalars(rates, self.betas, self.updates),
            betas=self.betas,
            eps=ADAM_EPS,
            lnc=self.lnc,
        )


class FlatMasterAdamW(FlatAdamW):
    """The same for parameters of which some are in bf16: the flat tensor stays apart, in fp32."""

    def attach(self, views: list[Tensor]) -> None:
        """Keep the views, for the parameters to be copies of."""
        self.views = views

    def update(self, gradients: list[Tensor]) -> None:
        """Update the flat tensor by the gradients of its parts, and the parameters by it."""
        super().update([gradient.float() for gradient in gradients])
        for parameter, view in zip(self.parameters, self.views, strict=True):
            parameter.copy_(view)
