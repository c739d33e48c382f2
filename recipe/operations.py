"""The operations: of each stands here what the configuration may name, and how it is chosen."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from recipe.bigram import make_bigram_embedding
from recipe.config import Config
from recipe.gates import Smear
from recipe.kernels.causal_convolution import NkiCausalConvolution, TorchCausalConvolution
from recipe.kernels.embedding import NkiEmbedding
from recipe.kernels.flash_attention import NkiAttention, TorchAttention
from recipe.kernels.fp8_projection import NkiFp8Projection, TorchFp8Projection
from recipe.kernels.head_cross_entropy import NkiHeadCrossEntropy, TorchHeadCrossEntropy
from recipe.kernels.ngram_mix import NkiNgramMix, TorchNgramMix
from recipe.kernels.relu_squared import NkiReLUSquared, TorchReLUSquared
from recipe.kernels.rms_norm import NkiRMSNorm, TorchRMSNorm
from recipe.kernels.rotary_qk_norm import NkiRotaryQKNorm, TorchRotaryQKNorm
from recipe.kernels.softcap_cross_entropy import NkiSoftcapCrossEntropy, TorchSoftcapCrossEntropy
from recipe.kernels.swiglu import NkiSwiGLU, TorchSwiGLU
from recipe.ngram import orders_of


def make_embedding(config: Config, dtype: torch.dtype) -> nn.Embedding:
    """The embedding that the configuration names; `dtype`: of the activations."""
    if config.embedding == "nki":
        return NkiEmbedding(rows=config.vocab_size, width=config.width, dtype=dtype, lnc=config.lnc)
    return nn.Embedding(num_embeddings=config.vocab_size, embedding_dim=config.width)


def make_entry(config: Config, dtype: torch.dtype) -> nn.Module:
    """From tokens to what the first block is given: embedding, smear and norm; `dtype`: of the activations."""
    entry: nn.Module = make_embedding(config, dtype)
    if config.bigram_rows > 0:
        entry = make_bigram_embedding(config, entry, dtype)
    if config.smear_gate:
        entry = nn.Sequential(entry, Smear(config.width))
    if config.residual_mix:
        entry = nn.Sequential(entry, make_norm(config))
    return entry


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
    """The mix of what the network and what n-grams predict that the configuration names."""
    orders = len(orders_of(config.ngram_orders))
    if config.ngram == "nki":
        return NkiNgramMix(orders=orders, slots=config.ngram_slots, followers=config.ngram_followers, lnc=config.lnc)
    return TorchNgramMix(orders=orders, slots=config.ngram_slots, followers=config.ngram_followers)


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


def make_windowed_core(config: Config, window: int) -> NkiAttention | TorchAttention:
    """The attention that the configuration names, with a window of its own."""
    if config.attention == "nki":
        return NkiAttention(window=window, lnc=config.lnc)
    return TorchAttention(window=window)


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


def make_loss(
    config: Config,
) -> NkiHeadCrossEntropy | TorchHeadCrossEntropy | LossOfLogits:
    """The loss that the configuration names, of the stream and the head's weights."""
    if config.loss == "fused":
        return NkiHeadCrossEntropy(cap=config.logit_softcap, lnc=config.lnc)
    if config.loss == "chunked":
        return TorchHeadCrossEntropy(cap=config.logit_softcap)
    return LossOfLogits(config)


class LossOfLogits(nn.Module):
    """The head's product, and the loss of the whole logits that the configuration names."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.loss: NkiSoftcapCrossEntropy | TorchSoftcapCrossEntropy
        if config.loss == "nki":
            self.loss = NkiSoftcapCrossEntropy(cap=config.logit_softcap, lnc=config.lnc)
        else:
            self.loss = TorchSoftcapCrossEntropy(cap=config.logit_softcap)

    def forward(self, x: Tensor, weight: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """x [..., D], weight [V, D], targets [...] -> mean loss, and losses [...] without a gradient, in fp32."""
        loss, losses = self.loss(F.linear(x, weight.to(x.dtype)), targets)
        return loss, losses


class FusedAttention(nn.Module):
    """Causal attention by torch's fused operator."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q, k, v [B, H, T, D] -> [B, H, T, D]."""
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class Linear(nn.Linear):
    """A product without bias, in the dtype of its input."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__(in_features, out_features, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """[..., in] -> [..., out]."""
        return F.linear(x, self.weight.to(x.dtype))


def start_reader(weight: Tensor) -> None:
    """Set the weights [out, in] of a product that reads the residual stream: uniform, with variance 1 / in."""
    bound = (3.0 / weight.size(-1)) ** 0.5
    nn.init.uniform_(weight, -bound, bound)


def tables(module: nn.Module) -> list[nn.Parameter]:
    """All embeddings within a module."""
    return weights(*(each for each in module.modules() if isinstance(each, nn.Embedding)))


def weights(*modules: nn.Module) -> list[nn.Parameter]:
    """The parameters of modules, in their order."""
    return [parameter for module in modules for parameter in module.parameters()]
