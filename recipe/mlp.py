"""The MLP of a block: with ReLU squared or SwiGLU, by single operations or by one kernel."""

from __future__ import annotations

from torch import Tensor, nn

from recipe.config import Config
from recipe.kernels.fused_mlp import NkiFusedGatedMLP, NkiFusedMLP
from recipe.operations import Linear, make_activation, make_gated_activation, make_projection, start_reader


class FeedForward(nn.Module):
    """Some products that read the residual stream, and behind them one that writes into it, in this order."""

    def initialize(self) -> None:
        """Set the parameters: what writes into the residual stream starts at zero."""
        *readers, writer = self.matrices()
        for reader in readers:
            start_reader(reader)
        nn.init.zeros_(writer)

    def matrices(self) -> list[nn.Parameter]:
        """The weight matrices."""
        return list(self.parameters())


class MLP(FeedForward):
    """Two products with ReLU squared between them."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.up = make_projection(config, in_features=config.width, out_features=config.hidden_width)
        self.activation = make_activation(config)
        self.down = make_projection(config, in_features=config.hidden_width, out_features=config.width)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, width] -> [B, T, width]."""
        y: Tensor = self.down(self.activation(self.up(x)))
        return y


class GatedMLP(FeedForward):
    """Two products with SwiGLU between them, whose gate is a third one."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.gate = make_projection(config, in_features=config.width, out_features=config.hidden_width)
        self.up = make_projection(config, in_features=config.width, out_features=config.hidden_width)
        self.activation = make_gated_activation(config)
        self.down = make_projection(config, in_features=config.hidden_width, out_features=config.width)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, width] -> [B, T, width]."""
        y: Tensor = self.down(self.activation(self.gate(x), self.up(x)))
        return y


class FusedMLP(FeedForward):
    """Two products with ReLU squared between them, in one kernel."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.up = Linear(in_features=config.width, out_features=config.hidden_width)
        self.down = Linear(in_features=config.hidden_width, out_features=config.width)
        self.whole = NkiFusedMLP(lnc=config.lnc)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, width] -> [B, T, width]."""
        y: Tensor = self.whole(x, self.up.weight, self.down.weight)
        return y


class FusedGatedMLP(FeedForward):
    """Two products with SwiGLU between them, and the gate's, in one kernel."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.gate = Linear(in_features=config.width, out_features=config.hidden_width)
        self.up = Linear(in_features=config.width, out_features=config.hidden_width)
        self.down = Linear(in_features=config.hidden_width, out_features=config.width)
        self.whole = NkiFusedGatedMLP(lnc=config.lnc)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, width] -> [B, T, width]."""
        y: Tensor = self.whole(x, self.gate.weight, self.up.weight, self.down.weight)
        return y


def make_mlp(config: Config) -> FeedForward:
    """The MLP that the configuration names; one expert, where there are several."""
    if config.activation == "swiglu":
        if config.mlp == "fused":
            return FusedGatedMLP(config)
        return GatedMLP(config)
    if config.mlp == "fused":
        return FusedMLP(config)
    return MLP(config)
