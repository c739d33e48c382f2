"""The sparse mixture of experts: in the place of one MLP several narrow ones, of which a router picks a few per token.

A token's result is the sum of its chosen experts' results, weighted by the router's probabilities of these, made to
add up to 1 (Shazeer et al., 2017; Lepikhin et al., "GShard", 2020). Router and weights are fp32.

There are two ways to the same sum. In training each expert takes `capacity` tokens of the batch at most, a number that
follows from shapes alone (Fedus et al., "Switch Transformer", 2021, section 2.2): buffers have static shapes, each
expert multiplies one dense matrix, and a token that comes too late to an expert goes without it. Which tokens come too
late depends on their neighbours in the batch, so that way belongs to the loss alone. Where logits are asked for, every
expert sees every token and the weights of those not chosen are zero: nothing is dropped, and a token's result is its
own, whatever stands beside or behind it. Which of the two runs follows from what the model hands to its blocks: the
loss hands them a sum to add the balance loss to. The modules' training mode has no part in it.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from recipe.config import Config
from recipe.mlp import make_mlp
from recipe.operations import start_reader, weights


class Experts(nn.Module):
    """The experts of one block and their router."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.router = nn.Linear(in_features=config.width, out_features=config.experts, bias=False)
        self.experts = nn.ModuleList([make_mlp(config) for _ in range(config.experts)])
        self.choices = config.experts_per_token
        self.capacity_factor = config.capacity_factor

    def forward(self, x: Tensor, around: dict[str, Tensor]) -> Tensor:
        """[B, T, width] -> [B, T, width]; `around`: where it has the sum `balance`, tokens may be dropped, and this
        block's balance loss is added to it.
        """
        if "balance" not in around:
            return self.by_all(x)
        y, balance = self.within_capacity(x)
        around["balance"] = around["balance"] + balance
        return y

    def by_all(self, x: Tensor) -> Tensor:
        """[B, T, width] -> [B, T, width]: every expert sees every token."""
        probabilities, shares, chosen = self.route(x)
        dense = torch.zeros_like(probabilities).scatter(-1, chosen, shares)
        y = torch.zeros_like(x)
        for share, expert in zip(dense.to(x.dtype).unbind(-1), self.experts, strict=True):
            y = y + share.unsqueeze(-1) * expert(x)
        return y

    def within_capacity(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """[B, T, width] -> [B, T, width], by experts that take so many tokens and no more; and the balance loss."""
        rows = x.reshape(-1, x.size(-1))
        probabilities, shares, chosen = self.route(rows)
        experts = len(self.experts)
        capacity = math.ceil(self.capacity_factor * chosen.numel() / experts)
        # First choices come before second ones: a token that loses one keeps the expert it wanted most.
        slots = slots_of(chosen.T.reshape(-1), experts, capacity)
        buffers = rows.new_zeros(experts * capacity + 1, rows.size(1))
        buffers = buffers.index_copy(0, slots, rows.repeat(self.choices, 1))[:-1].view(experts, capacity, -1)
        results = [expert(buffer) for expert, buffer in zip(self.experts, buffers.unbind(0), strict=True)]
        nothing = rows.new_zeros(1, rows.size(1))
        found = torch.cat([*results, nothing])[slots].view(self.choices, *rows.shape)
        y = (shares.T.to(x.dtype).unsqueeze(-1) * found).sum(0)
        return y.view(x.shape), balance_loss(probabilities, chosen)

    def route(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """[..., width] -> probabilities of all experts [..., experts]; shares and numbers of the chosen [..., choices],
        the most probable first.
        """
        probabilities = F.linear(x.float(), self.router.weight).softmax(-1)
        most, chosen = probabilities.topk(self.choices, dim=-1)
        return probabilities, most / most.sum(-1, keepdim=True), chosen

    def initialize(self) -> None:
        """Set the parameters."""
        expert: Any
        start_reader(self.router.weight)
        for expert in self.experts:
            expert.initialize()

    def matrices(self) -> list[nn.Parameter]:
        """The weight matrices."""
        return weights(self.router, self.experts)


def slots_of(chosen: Tensor, experts: int, capacity: int) -> Tensor:
    """Experts' numbers [N], in the order in which tokens come -> places [N] in buffers [experts * capacity + 1]: each
    expert's tokens stand in their order from experts' number * capacity on; those that come too late share the last.
    """
    mine = (chosen.unsqueeze(1) == torch.arange(experts, device=chosen.device)).int()
    place = (mine.cumsum(0) * mine).sum(1) - 1
    return torch.where(place < capacity, chosen * capacity + place, experts * capacity)


def balance_loss(probabilities: Tensor, chosen: Tensor) -> Tensor:
    """Probabilities [N, experts], chosen experts [N, choices] -> experts * sum over experts of (their share of all
    choices * their mean probability): Switch Transformer, equations 4 to 6, for several choices. It is 1 where all
    experts are chosen equally often; its gradient makes experts less probable that are chosen more often.
    """
    experts = probabilities.size(1)
    share = (chosen.reshape(-1, 1) == torch.arange(experts, device=chosen.device)).float().mean(0)
    return experts * (share * probabilities.mean(0)).sum()


def active_parameters(model: nn.Module) -> int:
    """How many parameters a token has to do with: all but those of the experts that it does not choose."""
    found = sum(parameter.numel() for parameter in model.parameters())
    for module in model.modules():
        if isinstance(module, Experts):
            expert = sum(parameter.numel() for parameter in module.experts[0].parameters())
            found -= (len(module.experts) - module.choices) * expert
    return found
