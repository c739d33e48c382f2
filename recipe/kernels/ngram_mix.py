"""The mix of what a network and what n-grams predict, as interpolated language models do it (Jelinek and Mercer, 1980).

Each position has a row of a table, which gives a few tokens a probability p, and a weight w of the row's order. The mix
adds that to the network's probabilities q, and shares out again:

    (q(v) + w p(v)) / (1 + w m)        p(v): 0 where the row does not name v; m: the sum of the row's p

In training only the target's probability counts. With the network's loss l = -log q(target) it is, row by row,

    l - softplus(l + log(w p(target))) + log(1 + w m)        the second term only where the row names the target

so that no logits are touched: `ngram_mix_forward` takes losses and makes losses, all fp32. Scores are made by torch.

Losses and weights are [...] in fp32, targets and rows [...] whole numbers, the table's followers and probabilities
[R, K] in int32 and in fp32 or bf16; the followers of a row all differ. The gradients of losses and weights are fp32;
the table gets none: it is set from outside.

What the kernels need: w p(target) in 2^-64 to 2^64, or 0 (what the Scalar engine has a logarithm of); tokens < 2^24
(they are compared in fp32). Any number of rows, any table, LNC 1 and 2 (the cores share the rows).
"""

from __future__ import annotations

from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_neuronx import wrap_nki

from recipe.kernels.products import BANK, load
from recipe.kernels.tiling import row_tiles
from recipe.ngram import EMPTY


class NgramTable(nn.Module):
    """Rows of followers and their probabilities, with the checks of their contexts, which are set from outside; and the
    learned logarithms of the orders' weights, which begin at zero.
    """

    check: Tensor
    follower: Tensor
    probability: Tensor

    def __init__(self, orders: int, slots: int, followers: int) -> None:
        """`orders`: how many; `slots`: rows of each; `followers`: of a row."""
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(orders))
        self.register_buffer("check", torch.full((orders * slots,), EMPTY, dtype=torch.int32))
        self.register_buffer("follower", torch.arange(followers, dtype=torch.int32).repeat(orders * slots, 1))
        self.register_buffer("probability", torch.zeros(orders * slots, followers, dtype=torch.bfloat16))

    def factor(self, level: Tensor) -> Tensor:
        """For each position the weight of an order by its place [...], 0 where that is -1: fp32 [...]."""
        places = torch.arange(self.weight.numel(), dtype=torch.int32, device=level.device)
        found: Tensor = (level.unsqueeze(-1) == places).to(torch.float32) @ self.weight.exp()
        return found

    def named(self, targets: Tensor, row: Tensor, level: Tensor) -> tuple[Tensor, Tensor]:
        """Targets, rows and places of their orders [...] -> w p(target) and w m, fp32 [...] each."""
        chosen, factor = row.long(), self.factor(level)
        probability = self.probability[chosen].float()
        hit = self.follower[chosen] == targets.unsqueeze(-1)
        return factor * (hit * probability).sum(-1), factor * probability.sum(-1)

    def forward(self, scores: Tensor, row: Tensor, level: Tensor) -> Tensor:
        """The network's scores [..., V] in fp32, rows and places of their orders [...] -> scores [..., V] whose softmax
        is the mix.
        """
        chosen = row.long()
        followers = self.follower[chosen].long()
        added = self.factor(level).unsqueeze(-1) * self.probability[chosen].float()
        raised = torch.logaddexp(scores.gather(-1, followers), scores.logsumexp(-1, keepdim=True) + added.log())
        return scores.scatter(-1, followers, raised)


class NkiNgramMix(NgramTable):
    """The table, and the mix of losses by the NKI kernels below."""

    def __init__(self, orders: int, slots: int, followers: int, lnc: int) -> None:
        """As the table; `lnc`: physical cores that share the work."""
        super().__init__(orders, slots, followers)
        self.lnc = lnc

    def losses(self, losses: Tensor, targets: Tensor, row: Tensor, level: Tensor) -> Tensor:
        """The network's losses, targets, rows of the table and places of their orders, [...] each -> losses [...]."""
        mixed: Tensor = NgramMixFunction.apply(  # type: ignore[no-untyped-call]
            losses, targets, row, self.factor(level), self.follower, self.probability, self.lnc
        )
        return mixed


class TorchNgramMix(NgramTable):
    """The table, and the mix of losses by torch operators."""

    def losses(self, losses: Tensor, targets: Tensor, row: Tensor, level: Tensor) -> Tensor:
        """The network's losses, targets, rows of the table and places of their orders, [...] each -> losses [...]."""
        return ngram_mix_reference(losses, *self.named(targets, row, level))


def ngram_mix_reference(losses: Tensor, named: Tensor, mass: Tensor) -> Tensor:
    """The definition, of w p(target) and w m as `NgramTable.named` has them."""
    there = named > 0.0
    raised = F.softplus(losses + torch.where(there, named, 1.0).log())
    return losses - torch.where(there, raised, 0.0) + mass.log1p()


class NgramMixFunction(torch.autograd.Function):
    """Autograd over the two kernels; the table gets no gradient."""

    @staticmethod
    def forward(
        ctx: Any,
        losses: Tensor,
        targets: Tensor,
        row: Tensor,
        factor: Tensor,
        follower: Tensor,
        probability: Tensor,
        lnc: int,
    ) -> Tensor:
        """Run the forward kernel; keep for the backward one how the mix changes with losses and weights."""
        mixed, slopes = wrap_nki(ngram_mix_forward)[lnc](
            losses=losses.reshape(-1, 1).contiguous(),
            targets=targets.reshape(-1, 1).to(torch.int32),
            row=row.reshape(-1, 1).contiguous(),
            factor=factor.reshape(-1, 1).contiguous(),
            follower=follower,
            probability=probability,
        )
        ctx.save_for_backward(slopes)
        ctx.lnc = lnc
        out: Tensor = mixed.view(losses.shape)
        return out

    @staticmethod
    def backward(ctx: Any, dmixed: Tensor) -> tuple[Tensor, None, None, Tensor, None, None, None]:
        """Gradients of losses and weights."""
        (slopes,) = ctx.saved_tensors
        both = wrap_nki(ngram_mix_backward)[ctx.lnc](dmixed=dmixed.reshape(-1, 1).contiguous(), slopes=slopes)
        dlosses, dfactor = (part.reshape(dmixed.shape) for part in both.unbind(1))
        return dlosses, None, None, dfactor, None, None, None


@nki.jit
def ngram_mix_forward(losses: Any, targets: Any, row: Any, factor: Any, follower: Any, probability: Any) -> Any:
    """Losses and factor [N, 1] fp32, targets and row [N, 1] int32, follower [R, K] int32, probability [R, K] -> mixed
    losses [N, 1] fp32, and [N, 2] fp32: how they change with the losses, and with the factors.
    """
    rows = row.shape[0]
    mixed = nl.ndarray(shape=(rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    slopes = nl.ndarray(shape=(rows, 2), dtype=nl.float32, buffer=nl.shared_hbm)
    for first, count, _ in row_tiles(rows, BANK, nl.program_id(axis=0), nl.num_programs(axes=0)):
        last = first + count
        loss, weight = load(losses[first:last, 0:1]), load(factor[first:last, 0:1])
        label, out = _column(count), _column(count)
        nisa.dma_copy(dst=label, src=targets[first:last, 0:1])  # in fp32, which tokens are compared in
        hit, mass = _looked_up(row, first, label, follower, probability)
        slope = nl.ndarray(shape=(count, 2), dtype=nl.float32, buffer=nl.sbuf)
        raised = _raised(loss, weight, hit, slope)
        shared = _shared_out(weight, mass, slope)
        nisa.tensor_tensor(dst=out, data1=loss, data2=raised, op=nl.subtract)
        nisa.tensor_tensor(dst=out, data1=out, data2=shared, op=nl.add)
        nisa.dma_copy(dst=mixed[first:last, 0:1], src=out)
        nisa.dma_copy(dst=slopes[first:last, 0:2], src=slope)
    return mixed, slopes


@nki.jit
def ngram_mix_backward(dmixed: Any, slopes: Any) -> Any:
    """Dmixed [N, 1] fp32, slopes [N, 2] as forward returned them -> [N, 2] fp32: gradients of losses and of factors."""
    rows = slopes.shape[0]
    both = nl.ndarray(shape=(rows, 2), dtype=nl.float32, buffer=nl.shared_hbm)
    for first, count, _ in row_tiles(rows, BANK, nl.program_id(axis=0), nl.num_programs(axes=0)):
        last = first + count
        gradient, slope = load(dmixed[first:last, 0:1]), load(slopes[first:last, 0:2])
        nisa.tensor_scalar(dst=slope, data=slope, op0=nl.multiply, operand0=gradient)
        nisa.dma_copy(dst=both[first:last, 0:2], src=slope)
    return both


def _column(count: int) -> Any:
    return nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)


def _looked_up(row: Any, first: int, label: Any, follower: Any, probability: Any) -> tuple[Any, Any]:
    """From `first` on, for each of the labels: what its row's probability of it is, and their sum: (count, 1) each."""
    count, followers = label.shape[0], follower.shape[1]
    chosen = load(row[first : first + count, 0:1])
    names = nl.ndarray(shape=(count, followers), dtype=nl.int32, buffer=nl.sbuf)
    chances = nl.ndarray(shape=(count, followers), dtype=nl.float32, buffer=nl.sbuf)
    named = nl.ndarray(shape=(count, followers), dtype=nl.float32, buffer=nl.sbuf)
    pattern = [[followers, count], [1, followers]]
    nisa.dma_copy(dst=names, src=follower.ap(pattern=pattern, offset=0, vector_offset=chosen))
    nisa.dma_copy(dst=chances, src=probability.ap(pattern=pattern, offset=0, vector_offset=chosen))
    nisa.scalar_tensor_tensor(dst=named, data=names, op0=nl.equal, operand0=label, op1=nl.multiply, operand1=chances)
    hit, mass = _column(count), _column(count)
    nisa.tensor_reduce(dst=hit, op=nl.add, data=named, axis=1, keepdims=True)
    nisa.tensor_reduce(dst=mass, op=nl.add, data=chances, axis=1, keepdims=True)
    return hit, mass


def _raised(loss: Any, weight: Any, hit: Any, slope: Any) -> Any:
    """softplus(loss + log(weight hit)), 0 where weight hit is 0: (count, 1).

    Into `slope` (count, 2): 1 - the share of the row in the sum, and minus that share for each unit of weight.
    """
    count = loss.shape[0]
    there, known, odds, raised, share, each = (_column(count) for _ in range(6))
    nisa.tensor_tensor(dst=known, data1=weight, data2=hit, op=nl.multiply)
    nisa.tensor_scalar(dst=there, data=known, op0=nl.greater, operand0=0.0)
    # Where nothing is there, 1 stands in, of which the logarithm and the reciprocal are finite.
    nisa.scalar_tensor_tensor(dst=known, data=known, op0=nl.add, operand0=1.0, op1=nl.subtract, operand1=there)
    nisa.activation(dst=odds, op=nl.log, data=known)
    nisa.tensor_tensor(dst=odds, data1=odds, data2=loss, op=nl.add)
    nisa.activation(dst=raised, op=nl.softplus, data=odds)
    nisa.activation(dst=share, op=nl.sigmoid, data=odds)
    nisa.tensor_tensor(dst=raised, data1=raised, data2=there, op=nl.multiply)
    nisa.tensor_tensor(dst=share, data1=share, data2=there, op=nl.multiply)
    nisa.tensor_scalar(dst=slope[0:count, 0:1], data=share, op0=nl.multiply, operand0=-1.0, op1=nl.add, operand1=1.0)
    nisa.reciprocal(dst=each, data=known)
    nisa.tensor_tensor(dst=each, data1=each, data2=hit, op=nl.multiply)
    nisa.scalar_tensor_tensor(
        dst=slope[0:count, 1:2], data=share, op0=nl.multiply, operand0=-1.0, op1=nl.multiply, operand1=each
    )
    return raised


def _shared_out(weight: Any, mass: Any, slope: Any) -> Any:
    """log(1 + weight mass): (count, 1). To the second column of `slope` is added how it changes with the weight."""
    count = weight.shape[0]
    total, logarithm, change = (_column(count) for _ in range(3))
    nisa.tensor_tensor(dst=total, data1=weight, data2=mass, op=nl.multiply)
    nisa.tensor_scalar(dst=total, data=total, op0=nl.add, operand0=1.0)
    nisa.activation(dst=logarithm, op=nl.log, data=total)
    nisa.reciprocal(dst=change, data=total)
    nisa.tensor_tensor(dst=change, data1=change, data2=mass, op=nl.multiply)
    nisa.tensor_tensor(dst=slope[0:count, 1:2], data1=slope[0:count, 1:2], data2=change, op=nl.add)
    return logarithm
