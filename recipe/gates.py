"""Gates: shares between 0 and 1 that a few channels of an activation decide."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

CHANNELS = 12  # of the input that decide; as many as in modded-nanogpt (Jordan et al., 2024)


class Gate(nn.Module):
    """Some shares of each position, 1/2 at the start."""

    def __init__(self, gates: int, width: int) -> None:
        """`width`: of the input."""
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(gates, min(CHANNELS, width)))

    def forward(self, x: Tensor) -> Tensor:
        """[..., width] -> [..., gates]."""
        return F.linear(x[..., : self.weight.size(1)], self.weight.to(x.dtype)).sigmoid()


class Smear(nn.Module):
    """Each token's embedding, and a gated share of its predecessor's: none at the start."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate = Gate(gates=1, width=width)
        self.scale = nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, width] -> [B, T, width]."""
        later = x[:, 1:]
        return torch.cat([x[:, :1], later + self.scale.to(x.dtype) * self.gate(later) * x[:, :-1]], dim=1)
