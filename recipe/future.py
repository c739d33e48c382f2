"""Multi-token prediction: from one stream of states, predictions of tokens behind the next one, in training only.

Gloeckle et al., 2024, give each further token a block of its own in front of the shared head; here it is a norm and one
product, which cost little beside the head. What is learned for them stays in the stream; logits never see them.
"""

from __future__ import annotations

from torch import Tensor, nn

from recipe.config import Config
from recipe.operations import Linear, make_norm


class Ahead(nn.Module):
    """The stream as it stands, and what turns it towards a token further ahead: nothing at the start."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.norm = make_norm(config)
        self.turn = Linear(in_features=config.width, out_features=config.width)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, width] -> [B, T, width]."""
        out: Tensor = x + self.turn(self.norm(x))
        return out
