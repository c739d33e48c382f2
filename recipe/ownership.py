"""Who updates which parameter: each has one owner, and the owners have about the same to do.

What an update costs is counted in multiply-adds, from shapes alone, so that every rank finds the same owners, and every
run. Muon's iteration makes five times three products, 2 s^2 l + s^3 multiply-adds for a matrix of sides s <= l: by the
kernel account's estimate 36 of them a picosecond on each core of Trn2 for sides from 512 on, 24 to 32 at 256; on a CPU
in fp32 within 15 % of one rate from 512 on. AdamW is bound by memory; what one element takes would do for the
multiply-adds stated below.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from recipe.config import Config

MUON_STEPS = 5
ADAMW_BY_KERNEL = 2800  # multiply-adds an element: 0.039 ns at 72 a picosecond, by the kernel account
ADAMW_ON_TORCH = 400  # 7 ns at 55 a nanosecond, measured on one core of a server's CPU

Unit = tuple[int, list[nn.Parameter]]  # what it costs, and what goes to one owner together


def deal(config: Config, matrices: Sequence[nn.Parameter], others: Sequence[nn.Parameter]) -> list[list[nn.Parameter]]:
    """The parameters of each rank, Muon's before AdamW's."""
    if config.world_size == 1:
        return [[*matrices, *others]]
    elementwise = [(adamw_cost(config) * parameter.numel(), [parameter]) for parameter in others]
    hands = hand_out([units_of_muon(config, matrices), elementwise], config.world_size)
    return [[*of_muon, *of_adamw] for of_muon, of_adamw in zip(*hands, strict=True)]


def hand_out(kinds: Sequence[Sequence[Unit]], world_size: int) -> list[list[list[nn.Parameter]]]:
    """For each kind of units the hand of each rank: a unit, the dearest first, goes to the rank that has least of all.

    As long as there are enough, every rank gets one of each kind: without, it would launch one kernel less than others.
    """
    hands: list[list[list[nn.Parameter]]] = [[[] for _ in range(world_size)] for _ in kinds]
    left = [len(units) for units in kinds]
    loads = [0] * world_size
    order = [(cost, kind, parameters) for kind, units in enumerate(kinds) for cost, parameters in units]
    for cost, kind, parameters in sorted(order, key=lambda unit: -unit[0]):
        ranks = [rank for rank, hand in enumerate(hands[kind]) if not hand]
        if left[kind] > len(ranks):
            ranks = list(range(world_size))
        rank = min(ranks, key=lambda rank: loads[rank])
        hands[kind][rank] += parameters
        loads[rank] += cost
        left[kind] -= 1
    return hands


def units_of_muon(config: Config, matrices: Sequence[nn.Parameter]) -> list[Unit]:
    """The matrices one by one; or as many of one shape together as a rank has cores.

    The kernel's cores share the matrices of a shape; one that is left over, both compute, and it costs as much as two.
    """
    if config.muon == "nki":
        together = units_of_shape(matrices, config.lnc)
        if len(together) >= config.world_size:
            return together
    return units_of_shape(matrices, 1)


def units_of_shape(matrices: Sequence[nn.Parameter], size: int) -> list[Unit]:
    """Up to `size` matrices of one shape to each unit, and the cost of as many."""
    by_shape: dict[tuple[int, ...], list[nn.Parameter]] = {}
    for matrix in matrices:
        by_shape.setdefault(tuple(matrix.shape), []).append(matrix)
    return [
        (size * muon_cost(shape), same[first : first + size])
        for shape, same in by_shape.items()
        for first in range(0, len(same), size)
    ]


def muon_cost(shape: Sequence[int]) -> int:
    """Multiply-adds of the iteration for a matrix."""
    short, long = sorted(shape)
    return MUON_STEPS * (2 * short**2 * long + short**3)


def adamw_cost(config: Config) -> int:
    """Multiply-adds that take as long as AdamW for one element."""
    if config.adamw == "nki":
        return ADAMW_BY_KERNEL
    return ADAMW_ON_TORCH
