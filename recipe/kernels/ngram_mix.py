"""Logits with a bias from n-gram counts: at each position a row of a table names a few followers and their gains, and

    y[follower[row, k]] = logits[follower[row, k]] + factor gain[row, k]    for every k; all other y are the logits

with a factor of the position. Logits are [..., V] in fp32 or bf16, row and factor [...] in int32 and fp32, follower and
gain [R, K] in int32 and in fp32 or bf16; the followers of a row all differ. y has the dtype of the logits, rounded once
from fp32. The gradient of the logits is that of y; the factor's is the sum over k of dy[follower] * gain, in fp32. The
table gets none: it is set from outside.

The kernels touch only the elements that change: y begins as a copy of the logits, from HBM to HBM, then for each k the
elements of 128 positions are gathered, get their bias, and are scattered; no address occurs twice.

What the kernels need: logits contiguous; V <= 2^17 (places among 128 rows are computed in fp32). Any number of rows,
any table, LNC 1 and 2 (the cores share the rows). SBUF holds nothing as long as the vocabulary.
"""

from __future__ import annotations

from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import torch
from torch import Tensor, nn
from torch_neuronx import wrap_nki

from recipe.kernels.products import BANK, PARTITIONS
from recipe.kernels.tiling import row_tiles
from recipe.ngram import EMPTY

MAX_VOCABULARY = 2**17


class NgramTable(nn.Module):
    """What both mixes hold: rows of followers and gains with the checks of their contexts, which are set from outside,
    and the learned weights of the orders, which begin at zero.
    """

    check: Tensor
    follower: Tensor
    gain: Tensor

    def __init__(self, orders: int, slots: int, followers: int) -> None:
        """`orders`: how many; `slots`: rows of each; `followers`: of a row."""
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(orders))
        self.register_buffer("check", torch.full((orders * slots,), EMPTY, dtype=torch.int32))
        self.register_buffer("follower", torch.arange(followers, dtype=torch.int32).repeat(orders * slots, 1))
        self.register_buffer("gain", torch.zeros(orders * slots, followers, dtype=torch.bfloat16))

    def factor(self, level: Tensor) -> Tensor:
        """For each position the weight of an order by its place [...], 0 where that is -1: fp32 [...]."""
        places = torch.arange(self.weight.numel(), dtype=torch.int32, device=level.device)
        found: Tensor = (level.unsqueeze(-1) == places).to(torch.float32) @ self.weight
        return found

    def row_of(self, row: Tensor) -> tuple[Tensor, Tensor]:
        """Rows' numbers [...] -> their followers and gains [..., K], as the table has them."""
        chosen = row.long()
        return self.follower[chosen], self.gain[chosen]


class NkiNgramMix(NgramTable):
    """The mix by the NKI kernels below."""

    def __init__(self, orders: int, slots: int, followers: int, lnc: int) -> None:
        """As the table; `lnc`: physical cores that share the work."""
        super().__init__(orders, slots, followers)
        self.lnc = lnc

    def forward(self, logits: Tensor, row: Tensor, level: Tensor) -> Tensor:
        """Logits [..., V], rows of the table and places of their orders [...] -> [..., V] like the logits."""
        mixed: Tensor = NgramMixFunction.apply(  # type: ignore[no-untyped-call]
            logits, row, self.factor(level), self.follower, self.gain, self.lnc
        )
        return mixed


class TorchNgramMix(NgramTable):
    """The mix by torch operators."""

    def forward(self, logits: Tensor, row: Tensor, level: Tensor) -> Tensor:
        """Logits [..., V], rows of the table and places of their orders [...] -> [..., V] like the logits."""
        return ngram_mix_reference(logits, row, self.factor(level), self.follower, self.gain)


def ngram_mix_reference(logits: Tensor, row: Tensor, factor: Tensor, follower: Tensor, gain: Tensor) -> Tensor:
    """The definition, in fp32, rounded once to the dtype of the logits."""
    chosen = row.long()
    bias = factor.unsqueeze(-1) * gain[chosen].float()
    return logits.float().scatter_add(-1, follower[chosen].long(), bias).to(logits.dtype)


class NgramMixFunction(torch.autograd.Function):
    """Autograd over the two kernels; the table gets no gradient."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, row: Tensor, factor: Tensor, follower: Tensor, gain: Tensor, lnc: int
    ) -> Tensor:
        """Run the forward kernel; keep the rows for the backward one."""
        chosen = row.reshape(-1, 1)
        ctx.save_for_backward(chosen, follower, gain)
        ctx.lnc = lnc
        mixed: Tensor = wrap_nki(ngram_mix_forward)[lnc](
            logits=logits.reshape(-1, 1).contiguous(),
            row=chosen,
            factor=factor.reshape(-1, 1).contiguous(),
            follower=follower,
            gain=gain,
        )
        return mixed.view(logits.shape)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, None, Tensor, None, None, None]:
        """Gradients of the logits and the factors."""
        chosen, follower, gain = ctx.saved_tensors
        dfactor: Tensor = wrap_nki(ngram_mix_backward)[ctx.lnc](
            dy=dy.reshape(-1, 1).contiguous(), row=chosen, follower=follower, gain=gain
        )
        return dy, None, dfactor.view(dy.shape[:-1]), None, None, None


@nki.jit
def ngram_mix_forward(logits: Any, row: Any, factor: Any, follower: Any, gain: Any) -> Any:
    """Logits [N V, 1], row [N, 1] int32, factor [N, 1] fp32, follower [R, K] int32, gain [R, K] -> mixed [N V, 1]."""
    rows = row.shape[0]
    vocabulary = logits.shape[0] // rows
    assert vocabulary <= MAX_VOCABULARY, f"ngram_mix_forward: V = {vocabulary}, must be at most {MAX_VOCABULARY}"
    mixed = nl.ndarray(shape=logits.shape, dtype=logits.dtype, buffer=nl.shared_hbm)
    starts = _starts(vocabulary)
    for first, count, _ in row_tiles(rows, BANK, nl.program_id(axis=0), nl.num_programs(axes=0)):
        whole, start = [[vocabulary, count], [1, vocabulary]], first * vocabulary
        nisa.dma_copy(dst=mixed.ap(pattern=whole, offset=start), src=logits.ap(pattern=whole, offset=start))
        places, gains = _chosen(row, first, count, starts, follower, gain)
        weight = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=weight, src=factor[first : first + count, 0:1])
        picked = _picked(logits, start, places)
        nisa.scalar_tensor_tensor(dst=picked, data=gains, op0=nl.multiply, operand0=weight, op1=nl.add, operand1=picked)
        for k in range(gains.shape[1]):
            nisa.dma_copy(dst=_elements(mixed, start, places, k), src=picked[0:count, k : k + 1])
    return mixed


@nki.jit
def ngram_mix_backward(dy: Any, row: Any, follower: Any, gain: Any) -> Any:
    """Dy [N V, 1], row [N, 1] int32, follower [R, K] int32, gain [R, K] -> the factors' gradient [N, 1] fp32."""
    rows = row.shape[0]
    vocabulary = dy.shape[0] // rows
    assert vocabulary <= MAX_VOCABULARY, f"ngram_mix_backward: V = {vocabulary}, must be at most {MAX_VOCABULARY}"
    dfactor = nl.ndarray(shape=(rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    starts = _starts(vocabulary)
    for first, count, _ in row_tiles(rows, BANK, nl.program_id(axis=0), nl.num_programs(axes=0)):
        places, gains = _chosen(row, first, count, starts, follower, gain)
        picked = _picked(dy, first * vocabulary, places)
        product = nl.ndarray(shape=gains.shape, dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=product, data1=picked, data2=gains, op=nl.multiply)
        nisa.tensor_reduce(dst=total, op=nl.add, data=product, axis=1, keepdims=True)
        nisa.dma_copy(dst=dfactor[first : first + count, 0:1], src=total)
    return dfactor


def _starts(vocabulary: int) -> Any:
    """Where each of 128 rows begins, counted from the first of them: [128, 1] fp32."""
    whole = nl.ndarray(shape=(PARTITIONS, 1), dtype=nl.int32, buffer=nl.sbuf)
    starts = nl.ndarray(shape=(PARTITIONS, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.iota(dst=whole, pattern=[[1, 1]], offset=0, channel_multiplier=vocabulary)
    nisa.tensor_copy(dst=starts, src=whole)
    return starts


def _chosen(row: Any, first: int, count: int, starts: Any, follower: Any, gain: Any) -> tuple[Any, Any]:
    """For `count` rows the places of their followers, counted from the first row, and the gains: [count, K] int32 and
    fp32.
    """
    followers = follower.shape[1]
    chosen = nl.ndarray(shape=(count, 1), dtype=nl.int32, buffer=nl.sbuf)
    names = nl.ndarray(shape=(count, followers), dtype=nl.int32, buffer=nl.sbuf)
    gains = nl.ndarray(shape=(count, followers), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=chosen, src=row[first : first + count, 0:1])
    pattern = [[followers, count], [1, followers]]
    nisa.dma_copy(dst=names, src=follower.ap(pattern=pattern, offset=0, vector_offset=chosen))
    nisa.dma_copy(dst=gains, src=gain.ap(pattern=pattern, offset=0, vector_offset=chosen))
    places = nl.ndarray(shape=(count, followers), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=places, data=names, op0=nl.add, operand0=starts[0:count, 0:1])
    return places, gains


def _picked(values: Any, start: int, places: Any) -> Any:
    """The elements of `values` [N V, 1] at `places` [count, K] from `start` on: [count, K]."""
    count, followers = places.shape
    picked = nl.ndarray(shape=(count, followers), dtype=values.dtype, buffer=nl.sbuf)
    for k in range(followers):
        nisa.dma_copy(dst=picked[0:count, k : k + 1], src=_elements(values, start, places, k))
    return picked


def _elements(values: Any, start: int, places: Any, k: int) -> Any:
    """The elements of `values` [N V, 1] at column k of `places` from `start` on, as rows of one element."""
    count = places.shape[0]
    return values.ap(pattern=[[1, count], [1, 1]], offset=start, vector_offset=places[0:count, k : k + 1])
