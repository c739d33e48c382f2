"""The stack of blocks between embedding and head."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from recipe.attention import Attention, make_attention, make_embedded_attention
from recipe.config import Config
from recipe.mlp import FeedForward, make_mlp
from recipe.moe import Experts
from recipe.operations import make_attention_core, make_attention_norm, make_norm, make_windowed_core
from recipe.recall import make_recalls


class Stack(nn.ModuleList):
    """The blocks, one behind the other."""

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


class RecallingStack(Stack):
    """The blocks, one behind the other; what lies further back is added to what they read."""

    def __init__(self, config: Config, blocks: list[nn.Module]) -> None:
        super().__init__(blocks)
        for layer, block in enumerate(blocks):
            block.add_module("recalls", make_recalls(config, layer))

    def forward(self, x: Tensor, around: dict[str, Tensor]) -> Tensor:
        """[B, T, width] -> [B, T, width]; `around`: what blocks read besides, by name."""
        passed = [x]  # what each block so far was given by the one before it
        block: Any
        for block in self:
            for recall in block.recalls:
                x = recall(x, passed)
            x = block(x, around)
            passed.append(x)
        return x


class Block(nn.Module):
    """Attention, then MLP, each reading a normalised residual stream and adding to it."""

    def __init__(self, config: Config, attention: Attention) -> None:
        super().__init__()
        self.attention_norm = make_attention_norm(config)
        self.attention = attention
        self.mlp_norm = make_norm(config)
        self.mlp = make_feed_forward(config)

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


class MLPBlock(nn.Module):
    """An MLP alone, reading a normalised residual stream and adding to it."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.mlp_norm = make_norm(config)
        self.mlp = make_feed_forward(config)

    def forward(self, x: Tensor, around: dict[str, Tensor]) -> Tensor:
        """[B, T, width] -> [B, T, width]; no position sees another, whatever is `around`."""
        out: Tensor = x + self.mlp(self.mlp_norm(x))
        return out

    def initialize(self) -> None:
        """Set the parameters."""
        self.mlp.initialize()

    def matrices(self) -> list[nn.Parameter]:
        """The weight matrices."""
        return self.mlp.matrices()


class RoutedBlock(Block):
    """Attention, then experts; they read what is around, too."""

    def forward(self, x: Tensor, around: dict[str, Tensor]) -> Tensor:
        """[B, T, width] -> [B, T, width]."""
        x = x + self.attention(self.attention_norm(x), around)
        out: Tensor = x + self.mlp(self.mlp_norm(x), around)
        return out


class RoutedMLPBlock(MLPBlock):
    """Experts alone; they read what is around, too."""

    def forward(self, x: Tensor, around: dict[str, Tensor]) -> Tensor:
        """[B, T, width] -> [B, T, width]."""
        out: Tensor = x + self.mlp(self.mlp_norm(x), around)
        return out


def make_stack(config: Config, dtype: torch.dtype) -> Stack:
    """The stack that the configuration names; `dtype`: of the activations."""
    blocks = make_blocks(config, dtype)
    if config.skips or config.residual_mix:
        return RecallingStack(config, blocks)
    return Stack(blocks)


def make_blocks(config: Config, dtype: torch.dtype) -> list[nn.Module]:
    """The blocks that the configuration names; `dtype`: of the activations."""
    if config.layers_alike:
        return [make_block(config, make_attention(config, make_attention_core(config))) for _ in range(config.depth)]
    blocks: list[nn.Module] = []
    for layer in range(0, config.depth, config.attention_every):
        blocks.append(make_layer(config, layer, dtype))
        if config.attention_every > 1:
            last = min(layer + config.attention_every, config.depth)
            blocks += [make_mlp_block(config) for _ in range(layer + 1, last)]
    return blocks


def make_layer(config: Config, layer: int, dtype: torch.dtype) -> Block:
    """The block with attention that stands at a place, counted from 0; `dtype`: of the activations."""
    core = make_layer_core(config, layer)
    if config.value_embeddings and layer in config.value_layers:
        return make_block(config, make_embedded_attention(config, core, dtype))
    return make_block(config, make_attention(config, core))


def make_block(config: Config, attention: Attention) -> Block:
    """The block around an attention."""
    if config.experts > 0:
        return RoutedBlock(config, attention)
    return Block(config, attention)


def make_mlp_block(config: Config) -> MLPBlock:
    """The block without attention."""
    if config.experts > 0:
        return RoutedMLPBlock(config)
    return MLPBlock(config)


def make_feed_forward(config: Config) -> Experts | FeedForward:
    """What stands in a block behind the attention."""
    if config.experts > 0:
        return Experts(config)
    return make_mlp(config)


def make_layer_core(config: Config, layer: int) -> nn.Module:
    """What a layer's attention computes."""
    if config.one_window:
        return make_attention_core(config)
    return make_windowed_core(config, config.windows[layer])
