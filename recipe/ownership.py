"""Who updates which parameter."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn


def deal(parameters: Sequence[nn.Parameter], world_size: int) -> list[list[nn.Parameter]]:
    """Deal parameters out to ranks, largest first, each to the rank that has least; ties go to the lower rank."""
    hands: list[list[nn.Parameter]] = [[] for _ in range(world_size)]
    loads = [0] * world_size
    for parameter in sorted(parameters, key=lambda p: -p.numel()):
        rank = loads.index(min(loads))
        hands[rank].append(parameter)
        loads[rank] += parameter.numel()
    return hands
