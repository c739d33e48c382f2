"""Causal self-attention over rotated and normalised queries and keys."""

from __future__ import annotations

from torch import Tensor, nn

from recipe.config import Config
from recipe.operations import make_attention_core, make_projection, make_rotary_norm, start_reader, weights


class Attention(nn.Module):
    """Causal self-attention."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads = config.heads
        self.head_dim = config.head_dim
        self.query = make_projection(config, in_features=config.width, out_features=config.width)
        self.key = make_projection(config, in_features=config.width, out_features=config.width)
        self.value = make_projection(config, in_features=config.width, out_features=config.width)
        self.out = make_projection(config, in_features=config.width, out_features=config.width)
        self.rotary_norm = make_rotary_norm(config)
        self.core = make_attention_core(config)

    def forward(self, x: Tensor, around: dict[str, Tensor]) -> Tensor:
        """[B, T, width] -> [B, T, width]; `around`: the rotary tables `cos` and `sin`."""
        shape = (x.size(0), x.size(1), self.heads, self.head_dim)
        q, k = self.rotary_norm(self.query(x).view(shape), self.key(x).view(shape), around["cos"], around["sin"])
        v = self.value(x).view(shape)
        y = self.core(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
        out: Tensor = self.out(y.transpose(1, 2).reshape(x.shape))
        return out

    def initialize(self) -> None:
        """Set the parameters: `out`, which writes into the residual stream, starts at zero."""
        for linear in (self.query, self.key, self.value):
            start_reader(linear.weight)
        nn.init.zeros_(self.out.weight)

    def matrices(self) -> list[nn.Parameter]:
        """The weight matrices."""
        return weights(self.query, self.key, self.value, self.out)
