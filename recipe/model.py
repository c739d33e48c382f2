"""The model: a GPT with RMSNorm, rotary positions, QK norm, a ReLU squared or SwiGLU MLP, softcapped logits and an
untied head; the configuration may give attention a window and a short convolution in front of it, the blocks' products
fp8, the residual stream skips and gates, and the logits a bias from n-gram counts.

Parameters are fp32. Activations have the dtype given to `GPT`; each product casts its weight to that of its input.
The forward pass is a pure function of its arguments: it is causal, keeps no state, and takes any sequence length.

A module that has parameters says how they start (`initialize`) and which of them are matrices for Muon (`matrices`);
every `nn.Embedding` is a table; all else are gains.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from recipe.block import make_stack
from recipe.config import Config
from recipe.future import Ahead
from recipe.kernels.rotary_qk_norm import rotary_tables
from recipe.kernels.softcap_cross_entropy import softcap
from recipe.ngram import longest_known, orders_of
from recipe.operations import Linear, make_entry, make_loss, make_ngram_mix, make_norm, tables, weights


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
        self.softcap = config.logit_softcap
        self.embed = make_entry(config, dtype)
        self.around = make_around(config)
        self.blocks = make_stack(config, dtype)
        self.norm = make_norm(config)
        self.head = Linear(in_features=config.width, out_features=config.vocab_size)
        self.loss = make_loss(config)

    def forward(self, tokens: Tensor, targets: Tensor | None = None) -> Tensor:
        """Tokens [B, T] -> softcapped logits [B, T, V] in fp32; or, given targets [B, T], their mean cross entropy."""
        x = self.stream(tokens)
        if targets is None:
            logits = self.logits(tokens, x)
            return softcap(logits, self.softcap)
        return self.cross_entropy(tokens, x, targets)

    def logits(self, tokens: Tensor, x: Tensor) -> Tensor:
        """Tokens [B, T] and the stream behind them [B, T, width] -> logits [B, T, V] before the cap."""
        logits: Tensor = self.head(self.norm(x))
        return logits

    def cross_entropy(self, tokens: Tensor, x: Tensor, targets: Tensor) -> Tensor:
        """Tokens [B, T], the stream behind them [B, T, width], targets [B, T] -> their mean cross entropy."""
        logits = self.logits(tokens, x)
        loss: Tensor = self.loss(logits, targets)
        return loss

    def stream(self, tokens: Tensor) -> Tensor:
        """Tokens [B, T] -> the residual stream behind the last block [B, T, width]."""
        x: Tensor = self.embed(tokens).to(self.dtype)
        out: Tensor = self.blocks(x, self.around(tokens))
        return out

    def initialize(self) -> None:
        """Set all parameters from torch's global generator: what writes into the residual stream starts at zero."""
        for table in tables(self.embed):
            nn.init.normal_(table, std=1.0)
        nn.init.normal_(self.head.weight, std=0.001)
        self.blocks.initialize()

    def matrices(self) -> list[nn.Parameter]:
        """The blocks' weight matrices."""
        return self.blocks.matrices()

    def tables(self) -> list[nn.Parameter]:
        """The embeddings [rows, width]."""
        return tables(self)

    def gains(self) -> list[nn.Parameter]:
        """All else, which is small: the gains of norms, the taps of convolutions, gates, shares."""
        others = {id(parameter) for parameter in (*self.matrices(), *self.tables(), *self.head.parameters())}
        return [parameter for parameter in self.parameters() if id(parameter) not in others]


class FusedHeadGPT(GPT):
    """The model whose loss takes the head's product itself: in training the logits are never whole."""

    def cross_entropy(self, tokens: Tensor, x: Tensor, targets: Tensor) -> Tensor:
        """Tokens [B, T], the stream behind them [B, T, width], targets [B, T] -> their mean cross entropy."""
        loss: Tensor = self.loss(self.norm(x), self.head.weight, targets)
        return loss


class NgramGPT(GPT):
    """The model whose logits get a bias from n-gram counts."""

    def __init__(self, config: Config, dtype: torch.dtype) -> None:
        """`dtype`: of the activations."""
        super().__init__(config, dtype)
        self.orders = orders_of(config.ngram_orders)
        self.mix = make_ngram_mix(config)

    def logits(self, tokens: Tensor, x: Tensor) -> Tensor:
        """Tokens [B, T] and the stream behind them [B, T, width] -> logits [B, T, V] before the cap."""
        row, level = longest_known(tokens, self.mix.check, self.orders)
        mixed: Tensor = self.mix(super().logits(tokens, x), row, level)
        return mixed


class NgramFusedHeadGPT(NgramGPT):
    """The model whose logits get a bias from n-gram counts, and whose loss takes the head's product itself."""

    def cross_entropy(self, tokens: Tensor, x: Tensor, targets: Tensor) -> Tensor:
        """Tokens [B, T], the stream behind them [B, T, width], targets [B, T] -> their mean cross entropy."""
        row, level = longest_known(tokens, self.mix.check, self.orders)
        followers, gains = self.mix.row_of(row)
        factor = self.mix.factor(level)
        loss: Tensor = self.loss(self.norm(x), self.head.weight, targets, factor, followers, gains)
        return loss


class FutureGPT(GPT):
    """The model whose loss has a gradient from tokens behind the next one, too."""

    def __init__(self, config: Config, dtype: torch.dtype) -> None:
        """`dtype`: of the activations."""
        super().__init__(config, dtype)
        self.ahead = nn.ModuleList([Ahead(config) for _ in range(config.future_tokens)])
        self.future_weight = config.future_weight

    def cross_entropy(self, tokens: Tensor, x: Tensor, targets: Tensor) -> Tensor:
        """Tokens [B, T], the stream behind them [B, T, width], targets [B, T] -> their mean cross entropy."""
        loss = super().cross_entropy(tokens, x, targets)
        total = torch.zeros_like(loss)
        for offset, ahead in enumerate(self.ahead, start=1):
            early = ahead(x[:, :-offset])  # the last positions have no such target
            total = total + super().cross_entropy(tokens[:, :-offset], early, targets[:, offset:])
        return with_gradient(loss, self.future_weight / len(self.ahead) * total)

    def initialize(self) -> None:
        """Set all parameters; what turns the stream starts at zero."""
        super().initialize()
        for turn in weights(*(ahead.get_submodule("turn") for ahead in self.ahead)):
            nn.init.zeros_(turn)

    def matrices(self) -> list[nn.Parameter]:
        """The weight matrices of the blocks, and of what predicts further tokens."""
        return [*super().matrices(), *weights(*(ahead.get_submodule("turn") for ahead in self.ahead))]


class FutureFusedHeadGPT(FutureGPT, FusedHeadGPT):
    """The model that learns from further tokens, too, and whose loss takes the head's product itself."""


class RoutedGPT(GPT):
    """The model whose blocks have experts. Its loss lets them drop tokens, and has a gradient that balances them."""

    def __init__(self, config: Config, dtype: torch.dtype) -> None:
        """`dtype`: of the activations."""
        super().__init__(config, dtype)
        self.balance_weight = config.balance_weight

    def forward(self, tokens: Tensor, targets: Tensor | None = None) -> Tensor:
        """Tokens [B, T] -> softcapped logits [B, T, V] in fp32; or, given targets [B, T], their mean cross entropy."""
        if targets is None:
            return super().forward(tokens)
        around = {**self.around(tokens), "balance": torch.zeros((), device=tokens.device)}
        x: Tensor = self.blocks(self.embed(tokens).to(self.dtype), around)
        return with_gradient(self.cross_entropy(tokens, x, targets), self.balance_weight * around["balance"])


class RoutedFusedHeadGPT(RoutedGPT, FusedHeadGPT):
    """The model with experts whose loss takes the head's product itself."""


class RoutedNgramGPT(RoutedGPT, NgramGPT):
    """The model with experts whose logits get a bias from n-gram counts."""


class RoutedNgramFusedHeadGPT(RoutedGPT, NgramFusedHeadGPT):
    """The same whose loss takes the head's product itself."""


class RoutedFutureGPT(RoutedGPT, FutureGPT):
    """The model with experts that learns from further tokens, too."""


class RoutedFutureFusedHeadGPT(RoutedGPT, FutureFusedHeadGPT):
    """The same whose loss takes the head's product itself."""


def with_gradient(loss: Tensor, other: Tensor) -> Tensor:
    """The value of one loss, with the gradient of the sum of both."""
    return loss + (other - other.detach())


class Positions(nn.Module):
    """What blocks read besides the residual stream: the tables that turn queries and keys by their position."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.head_dim = config.head_dim
        self.base = config.rotary_base

    def forward(self, tokens: Tensor) -> dict[str, Tensor]:
        """Tokens [B, T] -> cos and sin [T, D] by these names."""
        cos, sin = rotary_tables(tokens.size(1), self.head_dim, self.base, tokens.device)
        return {"cos": cos, "sin": sin}


class PositionsAndTokens(Positions):
    """What blocks read besides the residual stream: the same, and the tokens, for embeddings of their own."""

    def forward(self, tokens: Tensor) -> dict[str, Tensor]:
        """Tokens [B, T] -> cos and sin [T, D], and the tokens, by these names."""
        return {**super().forward(tokens), "tokens": tokens}


def make_around(config: Config) -> Positions:
    """What the blocks of the configuration read besides the residual stream."""
    if config.value_embeddings:
        return PositionsAndTokens(config)
    return Positions(config)


def make_model(config: Config, dtype: torch.dtype) -> GPT:
    """The model that the configuration names; `dtype`: of the activations."""
    if config.experts > 0:
        return make_routed_model(config, dtype)
    if config.future_tokens > 0:
        return make_future_model(config, dtype)
    if config.ngram != "none":
        return make_ngram_model(config, dtype)
    if config.loss in ("fused", "chunked"):
        return FusedHeadGPT(config, dtype)
    return GPT(config, dtype)


def make_ngram_model(config: Config, dtype: torch.dtype) -> NgramGPT:
    """The model with a bias from n-gram counts that the configuration names; `dtype`: of the activations."""
    if config.loss == "chunked":
        return NgramFusedHeadGPT(config, dtype)
    return NgramGPT(config, dtype)


def make_future_model(config: Config, dtype: torch.dtype) -> FutureGPT:
    """The model that learns from further tokens; `dtype`: of the activations."""
    if config.loss in ("fused", "chunked"):
        return FutureFusedHeadGPT(config, dtype)
    return FutureGPT(config, dtype)


def make_routed_model(config: Config, dtype: torch.dtype) -> RoutedGPT:
    """The model with experts that the configuration names; `dtype`: of the activations."""
    if config.future_tokens > 0:
        return make_routed_future_model(config, dtype)
    if config.ngram != "none":
        return make_routed_ngram_model(config, dtype)
    if config.loss in ("fused", "chunked"):
        return RoutedFusedHeadGPT(config, dtype)
    return RoutedGPT(config, dtype)


def make_routed_ngram_model(config: Config, dtype: torch.dtype) -> RoutedGPT:
    """The model with experts and a bias from n-gram counts; `dtype`: of the activations."""
    if config.loss == "chunked":
        return RoutedNgramFusedHeadGPT(config, dtype)
    return RoutedNgramGPT(config, dtype)


def make_routed_future_model(config: Config, dtype: torch.dtype) -> RoutedGPT:
    """The model with experts that learns from further tokens; `dtype`: of the activations."""
    if config.loss in ("fused", "chunked"):
        return RoutedFutureFusedHeadGPT(config, dtype)
    return RoutedFutureGPT(config, dtype)
