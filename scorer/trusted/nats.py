"""The score's arithmetic: cross entropy from logits in fp32 per target, added up without any rounding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F

from scorer.trusted.settings import bits_per_byte

LARGEST_CHUNK = 1 << 18  # logits at a time: what is made of them stays in a processor's cache


class ExactSum:
    """A sum of fp32 values with no rounding: their mantissas are added as integers, by exponent."""

    def __init__(self) -> None:
        self._by_exponent: dict[int, int] = {}

    def add(self, values: npt.NDArray[np.float32]) -> None:
        """Add fp32 values of any shape; ValueError where one is not finite, since no integer stands for it."""
        if not np.isfinite(values).all():
            raise ValueError("only finite values can be added exactly")
        mantissas, exponents = np.frexp(values.reshape(-1).astype(np.float64))
        integers = np.ldexp(mantissas, 24).astype(np.int64)  # an fp32 mantissa has 24 bits
        for exponent in np.unique(exponents).tolist():
            part = int(integers[exponents == exponent].sum())
            self._by_exponent[exponent] = self._by_exponent.get(exponent, 0) + part

    @property
    def total(self) -> Fraction:
        """The exact sum."""
        return sum((part * Fraction(2) ** (e - 24) for e, part in self._by_exponent.items()), Fraction(0))


@dataclass
class Sums:
    """What a score is made of."""

    nats: ExactSum = field(default_factory=ExactSum)
    num_bytes: int = 0
    num_tokens: int = 0

    def add(self, losses: torch.Tensor, lengths: torch.Tensor) -> None:
        """Add targets by loss (fp32, nats) and length (bytes); one of 0 bytes counts as a token, in neither sum."""
        self.nats.add(losses[lengths > 0].numpy())
        self.num_bytes += int(lengths.sum())
        self.num_tokens += losses.numel()

    @property
    def total_nats(self) -> float:
        """The sum rounded once."""
        return float(self.nats.total)

    @property
    def val_bpb(self) -> float:
        """Bits per byte: nats / (ln 2 x bytes)."""
        return bits_per_byte(self.total_nats, self.num_bytes)


def cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Nats of each target: logits [rows, T, V] of any float dtype, targets int64 [rows, T] -> fp32 [rows x T]."""
    flat, wanted = logits.flatten(0, 1), targets.flatten()
    step = max(1, LARGEST_CHUNK // flat.shape[1])
    parts = [
        F.cross_entropy(flat[i : i + step].float(), wanted[i : i + step], reduction="none")
        for i in range(0, len(flat), step)
    ]
    return torch.cat(parts)


def rows(stream: torch.Tensor, batch_size: int, seq_len: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """(inputs int32 [B, T], targets int64 [B, T]) of a stream cut at stride T; a last shorter row comes alone."""
    whole = (len(stream) - 1) // seq_len
    inputs = stream[: whole * seq_len].view(whole, seq_len)
    targets = stream[1 : whole * seq_len + 1].view(whole, seq_len)
    for first in range(0, whole, batch_size):
        some = slice(first, first + batch_size)
        yield inputs[some].to(torch.int32), targets[some].to(torch.int64)
    if (len(stream) - 1) % seq_len:
        rest = stream[whole * seq_len :]
        yield rest[None, :-1].to(torch.int32), rest[None, 1:].to(torch.int64)
