"""The model: a GPT with RMSNorm, rotary positions, QK norm, a ReLU squared or SwiGLU MLP, softcapped logits and an
untied head; the configuration may give attention a window and a short convolution in front of it, the blocks' products
fp8, the residual stream skips and gates, and predictions a share from n-gram counts.

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
            logits = self.logits(x)
            return softcap(logits, self.softcap)
        return self.cross_entropy(tokens, x, targets)

    def logits(self, x: Tensor) -> Tensor:
        """The stream behind the tokens [B, T, width] -> logits [B, T, V] before the cap."""
        logits: Tensor = self.head(self.norm(x))
        return logits

    def cross_entropy(self, tokens: Tensor, x: Tensor, targets: Tensor) -> Tensor:
        """Tokens [B, T], the stream behind them [B, T, width], targets [B, T] -> their mean cross entropy."""
        loss: Tensor
        loss, _ = self.loss(self.norm(x), self.head.weight, targets)
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


class NgramGPT(GPT):
    """The model whose predictions are mixed with those of n-gram counts.

    The network learns as if it were alone: what n-grams know it would not learn otherwise, and two that know it give
    the better mix. The loss is the network's, and has the gradient of the mix's, too, from which the orders' weights
    learn.
    """

    def __init__(self, config: Config, dtype: torch.dtype) -> None:
        """`dtype`: of the activations."""
        super().__init__(config, dtype)
        self.orders = orders_of(config.ngram_orders)
        self.mix = make_ngram_mix(config)

    def forward(self, tokens: Tensor, targets: Tensor | None = None) -> Tensor:
        """Tokens [B, T] -> logits [B, T, V] in fp32, whose softmax is the mix; or, given targets [B, T], their loss."""
        if targets is not None:
            return super().forward(tokens, targets)
        row, level = longest_known(tokens, self.mix.check, self.orders)
        mixed: Tensor = self.mix(super().forward(tokens), row, level)
        return mixed

    def cross_entropy(self, tokens: Tensor, x: Tensor, targets: Tensor) -> Tensor:
        """Tokens [B, T], the stream behind them [B, T, width], targets [B, T] -> their mean cross entropy."""
        row, level = longest_known(tokens, self.mix.check, self.orders)
        loss, losses = self.loss(self.norm(x), self.head.weight, targets)
        return with_gradient(loss, self.mix.losses(losses, targets, row, level).mean())


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


class RoutedGPT(GPT):
    """The model whose blocks have experts. Its loss lets them drop tokens, and has a gradient that balances them."""

    def __init__(self, config: Config, dtype: torch.dtype) -> None:
        """`dtype`: of the activations."""
        super().__init__(config, dtype)
        self.balance_weight = config.balance_weight

    def forward(self, tokens: Tensor, targets: Tensor | None = None) -> Tensor:
        """Tokens [B, T] -> logits [B, T, V] in fp32; or, given targets [B, T], their mean cross entropy."""
        if targets is None:
            return super().forward(tokens)
        around = {**self.around(tokens), "balance": torch.zeros((), device=tokens.device)}
        x: Tensor = self.blocks(self.embed(tokens).to(self.dtype), around)
        return with_gradient(self.cross_entropy(tokens, x, targets), self.balance_weight * around["balance"])


class RoutedNgramGPT(RoutedGPT, NgramGPT):
    """The model with experts whose predictions are mixed with those of n-gram counts."""


class RoutedFutureGPT(RoutedGPT, FutureGPT):
    """The model with experts that learns from further tokens, too."""


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
        return FutureGPT(config, dtype)
    if config.ngram != "none":
        return NgramGPT(config, dtype)
    return GPT(config, dtype)


def make_routed_model(config: Config, dtype: torch.dtype) -> RoutedGPT:
    """The model with experts that the configuration names; `dtype`: of the activations."""
    if config.future_tokens > 0:
        return RoutedFutureGPT(config, dtype)
    if config.ngram != "none":
        return RoutedNgramGPT(config, dtype)
    return RoutedGPT(config, dtype)
