"""GPT from its parts."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from . import registry
from .blocks import CausalSelfAttention
from .blocks import mlps as _mlps  # noqa: F401
from .config import GPTConfig


class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.norm1 = registry.NORMS[config.norm](config)
        self.attention = CausalSelfAttention(config)
        self.norm2 = registry.NORMS[config.norm](config)
        self.mlp = registry.MLPS[config.mlp](config)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """tokens [B, T] -> logits [B, T, V], or the loss when there are targets."""

    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.transformer = nn.ModuleDict(
            dict(
                embed=nn.Embedding(config.vocab, config.width),
                blocks=nn.ModuleList(Block(config) for _ in range(config.depth)),
                norm=registry.NORMS[config.norm](config),
            )
        )
        self.head = nn.Linear(config.width, config.vocab, bias=False)
        if config.tie:
            self.head.weight = self.transformer.embed.weight
        self.apply(self._init)
        for name, p in self.named_parameters():
            if name.endswith("down.weight") or name.endswith("out.weight"):
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * config.depth))

    def _init(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
            if getattr(module, "bias", None) is not None:
                nn.init.zeros_(module.bias)

    def forward(self, tokens, targets=None):
        x = self.transformer.embed(tokens)
        for block in self.transformer.blocks:
            x = block(x)
        logits = self.head(self.transformer.norm(x)).float()
        if self.config.softcap is not None:
            logits = self.config.softcap * torch.tanh(logits / self.config.softcap)
        if targets is None:
            return logits
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    @classmethod
    def from_checkpoint(cls, path, device="cpu"):
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
        model = cls(GPTConfig(**checkpoint["model_config"]))
        model.load_state_dict(checkpoint["model_state"])
        return model.to(device).eval()
