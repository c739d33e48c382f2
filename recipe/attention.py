"""Causal self-attention over rotated and normalised queries and keys; it may have gates and embeddings of values."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from recipe.config import Config
from recipe.gates import Gate
from recipe.operations import make_embedding, make_projection, make_rotary_norm, start_reader, weights


class Attention(nn.Module):
    """Causal self-attention."""

    def __init__(self, config: Config, core: nn.Module) -> None:
        """`core`: from queries, keys and values to what the heads found, all [B, H, T, D]."""
        super().__init__()
        self.heads = config.heads
        self.head_dim = config.head_dim
        self.query = make_projection(config, in_features=config.width, out_features=config.width)
        self.key = make_projection(config, in_features=config.width, out_features=config.width)
        self.value = make_projection(config, in_features=config.width, out_features=config.width)
        self.out = make_projection(config, in_features=config.width, out_features=config.width)
        self.rotary_norm = make_rotary_norm(config)
        self.core = core

    def forward(self, x: Tensor, around: dict[str, Tensor]) -> Tensor:
        """[B, T, width] -> [B, T, width]; `around`: the rotary tables `cos` and `sin`."""
        q, k, v = self.read(x, around)
        y = self.core(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
        return self.write(x, y.transpose(1, 2))

    def read(self, x: Tensor, around: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values [B, T, H, D]."""
        shape = (x.size(0), x.size(1), self.heads, self.head_dim)
        q, k = self.rotary_norm(self.query(x).view(shape), self.key(x).view(shape), around["cos"], around["sin"])
        return q, k, self.value(x).view(shape)

    def write(self, x: Tensor, y: Tensor) -> Tensor:
        """What the heads found, y [B, T, H, D], as [B, T, width] like x, which they read."""
        out: Tensor = self.out(y.reshape(x.shape))
        return out

    def initialize(self) -> None:
        """Set the parameters: `out`, which writes into the residual stream, starts at zero."""
        for linear in (self.query, self.key, self.value):
            start_reader(linear.weight)
        nn.init.zeros_(self.out.weight)

    def matrices(self) -> list[nn.Parameter]:
        """The weight matrices."""
        return weights(self.query, self.key, self.value, self.out)


class GatedAttention(Attention):
    """Attention with a gate on what each head found (Qiu et al., 2025), from the same input."""

    def __init__(self, config: Config, core: nn.Module) -> None:
        super().__init__(config, core)
        self.gate = Gate(gates=config.heads, width=config.width)

    def write(self, x: Tensor, y: Tensor) -> Tensor:
        """What the heads found, y [B, T, H, D], as [B, T, width] like x, which they read."""
        return super().write(x, y * self.gate(x).unsqueeze(-1))


class EmbeddedAttention(Attention):
    """Attention that adds to its values a row of a table of its own, chosen by the token, with a gate for each head (as
    in nanochat; Karpathy, 2025).
    """

    def __init__(self, config: Config, core: nn.Module, dtype: torch.dtype) -> None:
        """`dtype`: of the activations."""
        super().__init__(config, core)
        self.table = make_embedding(config, dtype)
        self.table_gate = Gate(gates=config.heads, width=config.width)

    def read(self, x: Tensor, around: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values [B, T, H, D]; `around` has the `tokens` [B, T], too."""
        q, k, v = super().read(x, around)
        rows = self.table(around["tokens"]).to(v.dtype).view(v.shape)
        return q, k, v + 2.0 * self.table_gate(x).unsqueeze(-1) * rows  # 2: gates start at 1/2

    def initialize(self) -> None:
        """Set the parameters: rows start as small as the weights that they are added to the products of."""
        super().initialize()
        start_reader(self.table.weight)


class GatedEmbeddedAttention(EmbeddedAttention):
    """The same with a gate on what each head found, too."""

    def __init__(self, config: Config, core: nn.Module, dtype: torch.dtype) -> None:
        """`dtype`: of the activations."""
        super().__init__(config, core, dtype)
        self.gate = Gate(gates=config.heads, width=config.width)

    def write(self, x: Tensor, y: Tensor) -> Tensor:
        """What the heads found, y [B, T, H, D], as [B, T, width] like x, which they read."""
        return super().write(x, y * self.gate(x).unsqueeze(-1))


def make_attention(config: Config, core: nn.Module) -> Attention:
    """The attention that the configuration names."""
    if config.attention_gate:
        return GatedAttention(config, core)
    return Attention(config, core)


def make_embedded_attention(config: Config, core: nn.Module, dtype: torch.dtype) -> EmbeddedAttention:
    """The attention with an embedding of values that the configuration names; `dtype`: of the activations."""
    if config.attention_gate:
        return GatedEmbeddedAttention(config, core, dtype)
    return EmbeddedAttention(config, core, dtype)
