"""The model: a GPT with RMSNorm, rotary positions, QK norm, a ReLU squared MLP, softcapped logits and an untied head.

Parameters are fp32. Activations have the dtype given to `GPT`; each product casts its weight to that of its input.
The forward pass is a pure function of its arguments: it is causal, keeps no state, and takes any sequence length.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from recipe.config import Config
from recipe.kernels.relu_squared import NkiReLUSquared, TorchReLUSquared
from recipe.kernels.rms_norm import NkiRMSNorm, TorchRMSNorm
from recipe.kernels.rotary_qk_norm import NkiRotaryQKNorm, TorchRotaryQKNorm, rotary_tables
from recipe.kernels.softcap_cross_entropy import NkiSoftcapCrossEntropy, TorchSoftcapCrossEntropy, softcap


def activation_dtype(config: Config, device: torch.device) -> torch.dtype:
    """The dtype of activations on a device: always fp32 on a CPU, where products in bf16 are many times slower."""
    if device.type == "cpu":
        return torch.float32
    if config.dtype == "float32":
        return torch.float32
    return torch.bfloat16


class GPT(nn.Module):
    """The whole model."""

    def __init__(self, config: Config, dtype: torch.dtype) -> None:
        """`dtype`: of the activations."""
        super().__init__()
        self.dtype = dtype
        self.head_dim = config.head_dim
        self.rotary_base = config.rotary_base
        self.softcap = config.logit_softcap
        self.embed = nn.Embedding(num_embeddings=config.vocab_size, embedding_dim=config.width)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.depth)])
        self.norm = make_norm(config)
        self.head = Linear(in_features=config.width, out_features=config.vocab_size)
        self.loss = make_loss(config)

    def forward(self, tokens: Tensor, targets: Tensor | None = None) -> Tensor:
        """Tokens [B, T] -> softcapped logits [B, T, V] in fp32; or, given targets [B, T], their mean cross entropy."""
        cos, sin = rotary_tables(tokens.size(1), self.head_dim, self.rotary_base, tokens.device)
        x = self.embed(tokens).to(self.dtype)
        for block in self.blocks:
            x = block(x, cos, sin)
        logits: Tensor = self.head(self.norm(x))
        if targets is None:
            return softcap(logits, self.softcap)
        loss: Tensor = self.loss(logits, targets)
        return loss

    def initialize(self) -> None:
        """Set all parameters from torch's global generator: what writes into the residual stream starts at zero."""
        nn.init.normal_(self.embed.weight, std=1.0)
        nn.init.normal_(self.head.weight, std=0.001)
        for block in self.blocks:
            assert isinstance(block, Block)
            bound = (3.0 / block.mlp.up.in_features) ** 0.5  # uniform with variance 1 / width
            for linear in (block.attention.query, block.attention.key, block.attention.value, block.mlp.up):
                nn.init.uniform_(linear.weight, -bound, bound)
            nn.init.zeros_(block.attention.out.weight)
            nn.init.zeros_(block.mlp.down.weight)

    def matrices(self) -> list[nn.Parameter]:
        """The blocks' weight matrices."""
        return [p for p in self.blocks.parameters() if p.ndim == 2]

    def tables(self) -> list[nn.Parameter]:
        """The embedding and the head, both [V, width]."""
        return [*self.embed.parameters(), *self.head.parameters()]

    def gains(self) -> list[nn.Parameter]:
        """The gains of all norms."""
        return [p for p in self.parameters() if p.ndim == 1]


class Block(nn.Module):
    """Attention, then MLP, each reading a normalised residual stream and adding to it."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention_norm = make_norm(config)
        self.attention = Attention(config)
        self.mlp_norm = make_norm(config)
        self.mlp = MLP(config)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """[B, T, width] -> [B, T, width]."""
        x = x + self.attention(self.attention_norm(x), cos, sin)
        out: Tensor = x + self.mlp(self.mlp_norm(x))
        return out


class Attention(nn.Module):
    """Causal self-attention over rotated and normalised queries and keys."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads = config.heads
        self.head_dim = config.head_dim
        self.query = Linear(in_features=config.width, out_features=config.width)
        self.key = Linear(in_features=config.width, out_features=config.width)
        self.value = Linear(in_features=config.width, out_features=config.width)
        self.out = Linear(in_features=config.width, out_features=config.width)
        self.rotary_norm = make_rotary_norm(config)
        self.core = make_attention_core(config)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """[B, T, width] -> [B, T, width]."""
        shape = (x.size(0), x.size(1), self.heads, self.head_dim)
        q, k = self.rotary_norm(self.query(x).view(shape), self.key(x).view(shape), cos, sin)
        v = self.value(x).view(shape)
        y = self.core(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
        out: Tensor = self.out(y.transpose(1, 2).reshape(x.shape))
        return out


class FusedAttention(nn.Module):
    """Causal attention by torch's fused operator."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q, k, v [B, H, T, D] -> [B, H, T, D]."""
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class ExplicitAttention(nn.Module):
    """Causal attention written out, with the softmax in fp32."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q, k, v [B, H, T, D] -> [B, H, T, D]."""
        scores = (q @ k.transpose(-2, -1)).float() * q.size(-1) ** -0.5
        future = torch.ones(q.size(-2), q.size(-2), dtype=torch.bool, device=q.device).triu(1)
        weights: Tensor = scores.masked_fill(future, float("-inf")).softmax(-1)
        return weights.to(v.dtype) @ v


class MLP(nn.Module):
    """Two products with ReLU squared between them."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.up = Linear(in_features=config.width, out_features=config.mlp_width)
        self.activation = make_activation(config)
        self.down = Linear(in_features=config.mlp_width, out_features=config.width)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, width] -> [B, T, width]."""
        y: Tensor = self.down(self.activation(self.up(x)))
        return y


class Linear(nn.Linear):
    """A product without bias, in the dtype of its input."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__(in_features, out_features, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """[..., in] -> [..., out]."""
        return F.linear(x, self.weight.to(x.dtype))


def make_norm(config: Config) -> NkiRMSNorm | TorchRMSNorm:
    """The RMSNorm that the configuration names."""
    if config.norm == "nki":
        return NkiRMSNorm(width=config.width, eps=config.norm_eps, lnc=config.lnc)
    return TorchRMSNorm(width=config.width, eps=config.norm_eps)


def make_rotary_norm(config: Config) -> NkiRotaryQKNorm | TorchRotaryQKNorm:
    """The rotary embedding and QK norm that the configuration names."""
    if config.rotary == "nki":
        return NkiRotaryQKNorm(eps=config.norm_eps, lnc=config.lnc)
    return TorchRotaryQKNorm(eps=config.norm_eps)


def make_attention_core(config: Config) -> FusedAttention | ExplicitAttention:
    """The attention that the configuration names."""
    if config.fused_attention:
        return FusedAttention()
    return ExplicitAttention()


def make_activation(config: Config) -> NkiReLUSquared | TorchReLUSquared:
    """The ReLU squared that the configuration names."""
    if config.mlp == "nki":
        return NkiReLUSquared(lnc=config.lnc)
    return TorchReLUSquared()


def make_loss(config: Config) -> NkiSoftcapCrossEntropy | TorchSoftcapCrossEntropy:
    """The loss that the configuration names."""
    if config.loss == "nki":
        return NkiSoftcapCrossEntropy(cap=config.logit_softcap, lnc=config.lnc)
    return TorchSoftcapCrossEntropy(cap=config.logit_softcap)
