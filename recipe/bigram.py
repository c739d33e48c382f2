"""Hashed bigram embedding: the pair of a token and its predecessor chooses a row of a large table, which is added to
the token's embedding (hashed bigrams as in fastText: Joulin et al., 2016). Pairs that share a row share what it says.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from recipe.config import Config
from recipe.row_table import make_row_table

MULTIPLIER = 31_337  # a prime; times a vocabulary of 65,536 it stays below 2^31: the device may compute in 32 bits


class BigramEmbedding(nn.Module):
    """The embedding of a token and of the pair that it ends; the table is as wide as the stream."""

    def __init__(self, config: Config, token: nn.Module, dtype: torch.dtype) -> None:
        """`token`: the embedding of tokens; `dtype`: of the activations."""
        super().__init__()
        self.rows = config.bigram_rows
        self.token = token
        self.pair = make_row_table(config, rows=config.bigram_rows, width=config.bigram_width, dtype=dtype)

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens [B, T] -> [B, T, width]."""
        x: Tensor = self.token(tokens)
        return x + self.spread(self.pair(bigrams_of(tokens, self.rows))).to(x.dtype)

    def spread(self, read: Tensor) -> Tensor:
        """What the table says [B, T, bigram_width] -> [B, T, width]."""
        return read


class NarrowBigramEmbedding(BigramEmbedding):
    """The same by a table that is narrower than the stream, with a product behind it."""

    def __init__(self, config: Config, token: nn.Module, dtype: torch.dtype) -> None:
        """`token`: the embedding of tokens; `dtype`: of the activations."""
        super().__init__(config, token, dtype)
        self.projection = nn.Linear(in_features=config.bigram_width, out_features=config.width, bias=False)

    def spread(self, read: Tensor) -> Tensor:
        """What the table says [B, T, bigram_width] -> [B, T, width]."""
        return F.linear(read, self.projection.weight.to(read.dtype))


def bigrams_of(tokens: Tensor, rows: int) -> Tensor:
    """Tokens [B, T] -> rows' numbers [B, T] int32: a hash of each token and the one before it, in 1 .. rows - 1; row 0
    where none is before it. Of 2^19 rows, hashes use 2^19 - 1, a prime.
    """
    tokens = tokens.int()
    hashed = (tokens[:, :-1] * MULTIPLIER + tokens[:, 1:]) % (rows - 1) + 1
    return F.pad(hashed, (1, 0))


def make_bigram_embedding(config: Config, token: nn.Module, dtype: torch.dtype) -> BigramEmbedding:
    """The embedding of pairs that the configuration names, over that of tokens; `dtype`: of the activations."""
    if config.bigram_width < config.width:
        return NarrowBigramEmbedding(config, token, dtype)
    return BigramEmbedding(config, token, dtype)
