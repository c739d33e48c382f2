"""The model: a GPT with RMSNorm, rotary positions, QK norm, a ReLU squared or SwiGLU MLP, softcapped logits and an
untied head; the configuration may give attention a window and a short convolution in front of it, the blocks' products
fp8, and the logits a bias from n-gram counts.

Parameters are fp32. Activations have the dtype given to `GPT`; each product casts its weight to that of its input.
The forward pass is a pure function of its arguments: it is causal, keeps no state, and takes any sequence length.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from recipe.config import Config
from recipe.kernels.causal_convolution import NkiCausalConvolution, TorchCausalConvolution
from recipe.kernels.embedding import NkiEmbedding
from recipe.kernels.flash_attention import NkiAttention, TorchAttention
from recipe.kernels.fp8_projection import NkiFp8Projection, TorchFp8Projection
from recipe.kernels.fused_mlp import NkiFusedGatedMLP, NkiFusedMLP
from recipe.kernels.head_cross_entropy import NkiHeadCrossEntropy
from recipe.kernels.ngram_mix import NkiNgramMix, TorchNgramMix
from recipe.kernels.relu_squared import NkiReLUSquared, TorchReLUSquared
from recipe.kernels.rms_norm import NkiRMSNorm, TorchRMSNorm
from recipe.kernels.rotary_qk_norm import NkiRotaryQKNorm, TorchRotaryQKNorm, rotary_tables
from recipe.kernels.softcap_cross_entropy import NkiSoftcapCrossEntropy, TorchSoftcapCrossEntropy, softcap
from recipe.kernels.swiglu import NkiSwiGLU, TorchSwiGLU
from recipe.ngram import contexts_of


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
        self.embed = make_embedding(config, dtype)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.depth)])
        self.norm = make_norm(config)
        self.head = Linear(in_features=config.width, out_features=config.vocab_size)
        self.loss = make_loss(config)

    def forward(self, tokens: Tensor, targets: Tensor | None = None) -> Tensor:
        """Tokens [B, T] -> softcapped logits [B, T, V] in fp32; or, given targets [B, T], their mean cross entropy."""
        x = self.stream(tokens)
        logits: Tensor = self.head(self.norm(x))
        if targets is None:
            return softcap(logits, self.softcap)
        loss: Tensor = self.loss(logits, targets)
        return loss

    def stream(self, tokens: Tensor) -> Tensor:
        """Tokens [B, T] -> the residual stream behind the last block [B, T, width]."""
        cos, sin = rotary_tables(tokens.size(1), self.head_dim, self.rotary_base, tokens.device)
        x: Tensor = self.embed(tokens).to(self.dtype)
        for block in self.blocks:
            x = block(x, cos, sin)
        return x

    def initialize(self) -> None:
        """Set all parameters from torch's global generator: what writes into the residual stream starts at zero."""
        nn.init.normal_(self.embed.weight, std=1.0)
        nn.init.normal_(self.head.weight, std=0.001)
        for block in self.blocks:
            assert isinstance(block, Block)
            bound = (3.0 / block.mlp.up.in_features) ** 0.5  # uniform with variance 1 / width
            for linear in (block.attention.query, block.attention.key, block.attention.value, *block.mlp.readers()):
                nn.init.uniform_(linear.weight, -bound, bound)
            nn.init.zeros_(block.attention.out.weight)
            nn.init.zeros_(block.mlp.down.weight)

    def matrices(self) -> list[nn.Parameter]:
        """The blocks' weight matrices."""
        linears = [module for module in self.blocks.modules() if isinstance(module, nn.Linear)]
        return [parameter for linear in linears for parameter in linear.parameters()]

    def tables(self) -> list[nn.Parameter]:
        """The embedding and the head, both [V, width]."""
        return [*self.embed.parameters(), *self.head.parameters()]

    def gains(self) -> list[nn.Parameter]:
        """What scales single channels: the gains of all norms, and the taps of convolutions."""
        others = {id(parameter) for parameter in (*self.matrices(), *self.tables())}
        return [parameter for parameter in self.parameters() if id(parameter) not in others]


class FusedHeadGPT(GPT):
    """The model whose loss takes the head's product itself: in training the logits are never whole."""

    def forward(self, tokens: Tensor, targets: Tensor | None = None) -> Tensor:
        """Tokens [B, T] -> softcapped logits [B, T, V] in fp32; or, given targets [B, T], their mean cross entropy."""
        if targets is not None:
            loss: Tensor = self.loss(self.norm(self.stream(tokens)), self.head.weight, targets)
            return loss
        return super().forward(tokens)


class NgramGPT(GPT):
    """The model whose logits get a bias from n-gram counts."""

    def __init__(self, config: Config, dtype: torch.dtype) -> None:
        """`dtype`: of the activations."""
        super().__init__(config, dtype)
        self.order = config.ngram_order
        self.contexts = config.ngram_contexts
        self.mix = make_ngram_mix(config)

    def forward(self, tokens: Tensor, targets: Tensor | None = None) -> Tensor:
        """Tokens [B, T] -> softcapped logits [B, T, V] in fp32; or, given targets [B, T], their mean cross entropy."""
        plain = self.head(self.norm(self.stream(tokens)))
        mixed: Tensor = self.mix(plain, contexts_of(tokens, self.order, self.contexts))
        if targets is not None:
            mean: Tensor = self.loss(mixed, targets)
            return mean
        return softcap(mixed, self.softcap)


class Block(nn.Module):
    """Attention, then MLP, each reading a normalised residual stream and adding to it."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention_norm = make_attention_norm(config)
        self.attention = Attention(config)
        self.mlp_norm = make_norm(config)
        self.mlp = make_mlp(config)

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
        self.query = make_projection(config, in_features=config.width, out_features=config.width)
        self.key = make_projection(config, in_features=config.width, out_features=config.width)
        self.value = make_projection(config, in_features=config.width, out_features=config.width)
        self.out = make_projection(config, in_features=config.width, out_features=config.width)
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


class MLP(nn.Module):
    """Two products with ReLU squared between them."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.up = make_projection(config, in_features=config.width, out_features=config.mlp_width)
        self.activation = make_activation(config)
        self.down = make_projection(config, in_features=config.mlp_width, out_features=config.width)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, width] -> [B, T, width]."""
        y: Tensor = self.down(self.activation(self.up(x)))
        return y

    def readers(self) -> list[nn.Linear]:
        """The products that read the residual stream."""
        return [self.up]


class GatedMLP(nn.Module):
    """Two products with SwiGLU between them, whose gate is a third one."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.gate = make_projection(config, in_features=config.width, out_features=config.mlp_width)
        self.up = make_projection(config, in_features=config.width, out_features=config.mlp_width)
        self.activation = make_gated_activation(config)
        self.down = make_projection(config, in_features=config.mlp_width, out_features=config.width)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, width] -> [B, T, width]."""
        y: Tensor = self.down(self.activation(self.gate(x), self.up(x)))
        return y

    def readers(self) -> list[nn.Linear]:
        """The products that read the residual stream."""
        return [self.gate, self.up]


class FusedMLP(nn.Module):
    """Two products with ReLU squared between them, in one kernel."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.up = Linear(in_features=config.width, out_features=config.mlp_width)
        self.down = Linear(in_features=config.mlp_width, out_features=config.width)
        self.whole = NkiFusedMLP(lnc=config.lnc)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, width] -> [B, T, width]."""
        y: Tensor = self.whole(x, self.up.weight, self.down.weight)
        return y

    def readers(self) -> list[nn.Linear]:
        """The products that read the residual stream."""
        return [self.up]


class FusedGatedMLP(nn.Module):
    """Two products with SwiGLU between them, and the gate's, in one kernel."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.gate = Linear(in_features=config.width, out_features=config.mlp_width)
        self.up = Linear(in_features=config.width, out_features=config.mlp_width)
        self.down = Linear(in_features=config.mlp_width, out_features=config.width)
        self.whole = NkiFusedGatedMLP(lnc=config.lnc)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, width] -> [B, T, width]."""
        y: Tensor = self.whole(x, self.gate.weight, self.up.weight, self.down.weight)
        return y

    def readers(self) -> list[nn.Linear]:
        """The products that read the residual stream."""
        return [self.gate, self.up]


class Linear(nn.Linear):
    """A product without bias, in the dtype of its input."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__(in_features, out_features, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """[..., in] -> [..., out]."""
        return F.linear(x, self.weight.to(x.dtype))


def make_model(config: Config, dtype: torch.dtype) -> GPT:
    """The model that the configuration names; `dtype`: of the activations."""
    if config.loss == "fused":
        return FusedHeadGPT(config, dtype)
    if config.ngram != "none":
        return NgramGPT(config, dtype)
    return GPT(config, dtype)


def make_embedding(config: Config, dtype: torch.dtype) -> nn.Embedding:
    """The embedding that the configuration names; `dtype`: of the activations."""
    if config.embedding == "nki":
        return NkiEmbedding(rows=config.vocab_size, width=config.width, dtype=dtype, lnc=config.lnc)
    return nn.Embedding(num_embeddings=config.vocab_size, embedding_dim=config.width)


def make_projection(
    config: Config, in_features: int, out_features: int
) -> NkiFp8Projection | TorchFp8Projection | Linear:
    """The product of a block that the configuration names."""
    if config.projection == "fp8_nki":
        return NkiFp8Projection(in_features=in_features, out_features=out_features, lnc=config.lnc)
    if config.projection == "fp8_torch":
        return TorchFp8Projection(in_features=in_features, out_features=out_features)
    return Linear(in_features=in_features, out_features=out_features)


def make_ngram_mix(config: Config) -> NkiNgramMix | TorchNgramMix:
    """The mix of logits and n-gram counts that the configuration names."""
    if config.ngram == "nki":
        return NkiNgramMix(contexts=config.ngram_contexts, vocabulary=config.vocab_size, lnc=config.lnc)
    return TorchNgramMix(contexts=config.ngram_contexts, vocabulary=config.vocab_size)


def make_norm(config: Config) -> NkiRMSNorm | TorchRMSNorm:
    """The RMSNorm that the configuration names."""
    if config.norm == "nki":
        return NkiRMSNorm(width=config.width, eps=config.norm_eps, lnc=config.lnc)
    return TorchRMSNorm(width=config.width, eps=config.norm_eps)


def make_attention_norm(config: Config) -> nn.Module:
    """What the attention reads the residual stream through: a norm, and behind it a convolution if there is one."""
    if config.conv_taps == 0:
        return make_norm(config)
    return nn.Sequential(make_norm(config), make_convolution(config))


def make_convolution(config: Config) -> NkiCausalConvolution | TorchCausalConvolution:
    """The convolution that the configuration names."""
    if config.conv == "nki":
        return NkiCausalConvolution(channels=config.width, taps=config.conv_taps, lnc=config.lnc)
    return TorchCausalConvolution(channels=config.width, taps=config.conv_taps)


def make_rotary_norm(config: Config) -> NkiRotaryQKNorm | TorchRotaryQKNorm:
    """The rotary embedding and QK norm that the configuration names."""
    if config.rotary == "nki":
        return NkiRotaryQKNorm(eps=config.norm_eps, lnc=config.lnc)
    return TorchRotaryQKNorm(eps=config.norm_eps)


def make_attention_core(config: Config) -> NkiAttention | FusedAttention | TorchAttention:
    """The attention that the configuration names."""
    if config.attention == "nki":
        return NkiAttention(window=config.attention_window, lnc=config.lnc)
    if config.fused_attention:
        return FusedAttention()
    return TorchAttention(window=config.attention_window)


def make_mlp(config: Config) -> MLP | GatedMLP | FusedMLP | FusedGatedMLP:
    """The MLP that the configuration names."""
    if config.activation == "swiglu":
        if config.mlp == "fused":
            return FusedGatedMLP(config)
        return GatedMLP(config)
    if config.mlp == "fused":
        return FusedMLP(config)
    return MLP(config)


def make_activation(config: Config) -> NkiReLUSquared | TorchReLUSquared:
    """The ReLU squared that the configuration names."""
    if config.mlp == "nki":
        return NkiReLUSquared(lnc=config.lnc)
    return TorchReLUSquared()


def make_gated_activation(config: Config) -> NkiSwiGLU | TorchSwiGLU:
    """The SwiGLU that the configuration names."""
    if config.mlp == "nki":
        return NkiSwiGLU(lnc=config.lnc)
    return TorchSwiGLU()


def make_loss(config: Config) -> NkiHeadCrossEntropy | NkiSoftcapCrossEntropy | TorchSoftcapCrossEntropy:
    """The loss that the configuration names."""
    if config.loss == "fused":
        return NkiHeadCrossEntropy(cap=config.logit_softcap, lnc=config.lnc)
    if config.loss == "nki":
        return NkiSoftcapCrossEntropy(cap=config.logit_softcap, lnc=config.lnc)
    return TorchSoftcapCrossEntropy(cap=config.logit_softcap)
