"""The stack of blocks between embedding and head."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from recipe.attention import Attention
from recipe.config import Config
from recipe.mlp import make_mlp
from recipe.operations import make_attention_norm, make_norm


class Stack(nn.ModuleList):
    """The blocks, one behind the other."""

    def __init__(self, config: Config) -> None:
        super().__init__([Block(config) for _ in range(config.depth)])

    def forward(self, x: Tensor, around: dict[str, Tensor]) -> Tensor:
        """[B, T, width] -> [B, T, width]; `around`: what blocks read besides, by name."""
        for block in self:
            x = block(x, around)
        return x

    def initialize(self) -> None:
        """Set the parameters of all blocks."""
        block: Any
        for block in self:
            block.initialize()

    def matrices(self) -> list[nn.Parameter]:
        """The weight matrices of all blocks."""
        block: Any
        found: list[nn.Parameter] = []
        for block in self:
            found += block.matrices()
        return found


class Block(nn.Module):
    """Attention, then MLP, each reading a normalised residual stream and adding to it."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention_norm = make_attention_norm(config)
        self.attention = Attention(config)
        self.mlp_norm = make_norm(config)
        self.mlp = make_mlp(config)

    def forward(self, x: Tensor, around: dict[str, Tensor]) -> Tensor:
        """[B, T, width] -> [B, T, width]."""
        x = x + self.attention(self.attention_norm(x), around)
        out: Tensor = x + self.mlp(self.mlp_norm(x))
        return out

    def initialize(self) -> None:
        """Set the parameters."""
        self.attention.initialize()
        self.mlp.initialize()

    def matrices(self) -> list[nn.Parameter]:
        """The weight matrices."""
        return [*self.attention.matrices(), *self.mlp.matrices()]
