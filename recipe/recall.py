"""What a block reads besides the output of the one before it: the normalised embedding, and an early block's output."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from recipe.config import Config


class ResidualMix(nn.Module):
    """a x + b x0, with x0 what the first block is given: x alone at the start (modded-nanogpt; Jordan et al., 2024)."""

    def __init__(self) -> None:
        super().__init__()
        self.scales = nn.Parameter(torch.tensor([1.0, 0.0]))

    def forward(self, x: Tensor, passed: list[Tensor]) -> Tensor:
        """x [B, T, width] and what the blocks so far were given -> [B, T, width]."""
        scales = self.scales.to(x.dtype)
        return scales[0] * x + scales[1] * passed[0]


class Skip(nn.Module):
    """x and a share of what an early block was left with, all of it at the start (U-Net; Ronneberger et al., 2015)."""

    def __init__(self, source: int) -> None:
        """`source`: the early block, counted from 0."""
        super().__init__()
        self.source = source
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x: Tensor, passed: list[Tensor]) -> Tensor:
        """x [B, T, width] and what the blocks so far were given -> [B, T, width]."""
        return x + self.scale.to(x.dtype) * passed[self.source + 1]


def make_recalls(config: Config, layer: int) -> nn.ModuleList:
    """What the block at a place reads besides, counted from 0.

    Skips pair the blocks from outside in: the last one reads the output of the first, and so on. The two in the middle,
    where a block would skip nothing, are left out.
    """
    recalls = nn.ModuleList()
    if config.skips and 2 * layer > config.depth:
        recalls.append(Skip(config.depth - 1 - layer))
    if config.residual_mix:
        recalls.append(ResidualMix())
    return recalls
