"""The MLP of a block: with ReLU squared or SwiGLU, by single operations or by one kernel."""

from __future__ import annotations

from torch import Tensor, nn

from recipe.config import Config
from recipe.kernels.fused_mlp import NkiFusedGatedMLP, NkiFusedMLP
from recipe.operations import Linear, make_activation, make_gated_activation, make_projection, start_reader, weights


class MLP(nn.Module):
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

    def initialize(self) -> None:
        """Set the parameters: `down`, which writes into the residual stream, starts at zero."""
        start_reader(self.up.weight)
        nn.init.zeros_(self.down.weight)

    def matrices(self) -> list[nn.Parameter]:
        """The weight matrices."""
        return weights(self.up, self.down)


class GatedMLP(nn.Module):
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

    def initialize(self) -> None:
        """Set the parameters: `down`, which writes into the residual stream, starts at zero."""
        start_reader(self.gate.weight)
        start_reader(self.up.weight)
        nn.init.zeros_(self.down.weight)

    def matrices(self) -> list[nn.Parameter]:
        """The weight matrices."""
        return weights(self.gate, self.up, self.down)


class FusedMLP(nn.Module):
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

    def initialize(self) -> None:
        """Set the parameters: `down`, which writes into the residual stream, starts at zero."""
        start_reader(self.up.weight)
        nn.init.zeros_(self.down.weight)

    def matrices(self) -> list[nn.Parameter]:
        """The weight matrices."""
        return weights(self.up, self.down)


class FusedGatedMLP(nn.Module):
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

    def initialize(self) -> None:
        """Set the parameters: `down`, which writes into the residual stream, starts at zero."""
        start_reader(self.gate.weight)
        start_reader(self.up.weight)
        nn.init.zeros_(self.down.weight)

    def matrices(self) -> list[nn.Parameter]:
        """The weight matrices."""
        return weights(self.gate, self.up, self.down)


def make_mlp(config: Config) -> MLP | GatedMLP | FusedMLP | FusedGatedMLP:
    """The MLP that the configuration names; one expert, where there are several."""
    if config.activation == "swiglu":
        if config.mlp == "fused":
            return FusedGatedMLP(config)
        return GatedMLP(config)
    if config.mlp == "fused":
        return FusedMLP(config)
    return MLP(config)
