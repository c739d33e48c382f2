"""N-gram contexts: how the last tokens become rows of a table, and which of these rows counts.

A context of order n is the last n - 1 tokens; what it predicts is the n-th. Each order has as many slots; a hash of the
context chooses the slot, and a second hash, the check, tells whether the slot holds this context or another one.

Both hashes are Marsaglia's multiply-with-carry generator with the tokens added to its state, newest first:
h = MULTIPLIER * (h mod 2^16) + floor(h / 2^16) + token, a polynomial of the tokens modulo MULTIPLIER 2^16 - 1. No step
leaves 31 bits, so that a device that computes in 32 bits finds the same, and checks fit into the mantissa of fp32.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

MULTIPLIERS = (30_903, 18_000)  # of the slot and of the check
CHECK_BITS = 24
MAX_TOKENS = 65_536  # of the vocabulary
EMPTY = -1  # the check of a slot that holds no context
NO_CONTEXT = -2  # the check of a position with fewer tokens behind it than the order needs


def orders_of(names: str) -> tuple[int, ...]:
    """Ascending orders, as they are written in a knob, such as "2,3,6"."""
    return tuple(int(name) for name in names.split(","))


def contexts_of(tokens: Tensor, orders: Sequence[int], slots: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Tokens [B, T] -> for each order the slot [B, T] and the check [B, T] of the context that ends at each position.

    `slots`: of an order, a power of two.
    """
    length = tokens.size(1)
    position = torch.arange(length, dtype=torch.int32, device=tokens.device)
    multipliers = torch.tensor(MULTIPLIERS, dtype=torch.int32, device=tokens.device).view(2, 1, 1)
    padded = F.pad(tokens.int() + 1, (orders[-1] - 2, 0), value=1)
    state = torch.zeros((2, 1, 1), dtype=torch.int32, device=tokens.device)
    for back in range(orders[-1] - 1):
        start = orders[-1] - 2 - back
        state = _mixed(state, multipliers) + padded[:, start : start + length]
        if back + 2 in orders:
            slot, check = _mixed(state, multipliers).unbind()
            yield slot & (slots - 1), torch.where(position >= back, check & (2**CHECK_BITS - 1), NO_CONTEXT)


def _mixed(state: Tensor, multipliers: Tensor) -> Tensor:
    return (state & 0xFFFF) * multipliers + (state >> 16)


def longest_known(tokens: Tensor, checks: Tensor, orders: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Tokens [B, T], the checks of all rows [orders * slots] -> at each position the row of the longest context that
    has one, and the place of its order among `orders`: both int32 [B, T]; 0 and -1 where no context has a row.
    """
    slots = checks.numel() // len(orders)
    row = torch.zeros_like(tokens, dtype=torch.int32)
    level = torch.full_like(row, -1)
    for place, (slot, check) in enumerate(contexts_of(tokens, orders, slots)):
        candidate = slot + place * slots
        known = checks[candidate.long()] == check
        row = torch.where(known, candidate, row)
        level = torch.where(known, place, level)
    return row, level
