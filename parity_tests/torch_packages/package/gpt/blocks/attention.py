from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F

from ..config import GPTConfig


def rotate(x: torch.Tensor, base: float = 10000.0) -> torch.Tensor:
    """Rotary positions, x [B, H, T, D]."""
    half = x.size(-1) // 2
    frequencies = base ** (-torch.arange(half, dtype=torch.float32) / half)
    angles = torch.arange(x.size(-2), dtype=torch.float32)[:, None] * frequencies
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), -1)


class CausalSelfAttention(nn.Module):
    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.qkv = nn.Linear(config.width, 3 * config.width, bias=config.bias)
        self.out = nn.Linear(config.width, config.width, bias=config.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        B, T, C = x.shape
        config = self.config
        q, k, v = (t.view(B, T, config.heads, config.head_dim).transpose(1, 2) for t in self.qkv(x).split(C, dim=2))
        y = F.scaled_dot_product_attention(rotate(q), rotate(k), v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(B, T, C))
