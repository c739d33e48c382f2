"""Logits with a bias from n-gram counts: y = logits + weight * table[context], with one learned weight.

Logits are [..., V] in fp32 or bf16, contexts [...] the rows of the table that belong to them (hashes of the last
tokens), the table is [H, V] in fp32 or bf16 and fixed, the weight one fp32 number; y has the dtype of the logits,
rounded once from fp32. The gradient of the logits is that of y; the weight's is the sum over all rows of dy *
table[context], in fp32.

What the kernels need: logits contiguous. Any number of rows, columns and contexts, LNC 1 and 2 (the cores share the
rows; each gives a part of the weight's gradient). The vocabulary goes through SBUF in chunks of 2048 columns, at most
three fp32 tiles wide.
"""

from __future__ import annotations

from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import torch
from torch import Tensor, nn
from torch_neuronx import wrap_nki

from recipe.kernels.products import BANK, PARTITIONS, parts
from recipe.kernels.tiling import row_tiles

CHUNK = 2048


class NkiNgramMix(nn.Module):
    """The mix by the NKI kernels below. The table is set from outside; the weight begins at zero."""

    table: Tensor

    def __init__(self, contexts: int, vocabulary: int, lnc: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.register_buffer("table", torch.zeros(contexts, vocabulary, dtype=torch.bfloat16))
        self.lnc = lnc

    def forward(self, logits: Tensor, contexts: Tensor) -> Tensor:
        """Logits [..., V], contexts [...] -> [..., V] like the logits."""
        mixed: Tensor = NgramMixFunction.apply(logits, contexts, self.table, self.weight, self.lnc)  # type: ignore[no-untyped-call]
        return mixed


class TorchNgramMix(nn.Module):
    """The mix by torch operators. The table is set from outside; the weight begins at zero."""

    table: Tensor

    def __init__(self, contexts: int, vocabulary: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.register_buffer("table", torch.zeros(contexts, vocabulary, dtype=torch.bfloat16))

    def forward(self, logits: Tensor, contexts: Tensor) -> Tensor:
        """Logits [..., V], contexts [...] -> [..., V] like the logits."""
        return ngram_mix_reference(logits, contexts, self.table, self.weight)


def ngram_mix_reference(logits: Tensor, contexts: Tensor, table: Tensor, weight: Tensor) -> Tensor:
    """The definition, in fp32, rounded once to the dtype of the logits."""
    return (logits.float() + weight * table[contexts.long()].float()).to(logits.dtype)


class NgramMixFunction(torch.autograd.Function):
    """Autograd over the two kernels; the table gets no gradient."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, contexts: Tensor, table: Tensor, weight: Tensor, lnc: int) -> Tensor:
        """Run the forward kernel; keep the contexts for the backward one."""
        rows = logits.reshape(-1, logits.size(-1)).contiguous()
        chosen = contexts.reshape(-1, 1).to(torch.int32)
        ctx.save_for_backward(chosen, table)
        ctx.lnc = lnc
        mixed: Tensor = wrap_nki(ngram_mix_forward)[lnc](logits=rows, contexts=chosen, table=table, weight=weight)
        return mixed.view(logits.shape)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, None, None, Tensor, None]:
        """Gradients of the logits and the weight."""
        chosen, table = ctx.saved_tensors
        rows = dy.reshape(-1, dy.size(-1)).contiguous()
        dweight: Tensor = wrap_nki(ngram_mix_backward)[ctx.lnc](dy=rows, contexts=chosen, table=table)
        return dy, None, None, dweight.sum(0), None


@nki.jit
def ngram_mix_forward(logits: Any, contexts: Any, table: Any, weight: Any) -> Any:
    """Logits [N, V], contexts [N, 1] int32, table [H, V], weight [1] fp32 -> logits + weight * table[contexts]."""
    rows, vocabulary = logits.shape
    mixed = nl.ndarray(shape=(rows, vocabulary), dtype=logits.dtype, buffer=nl.shared_hbm)
    factor = nl.ndarray(shape=(PARTITIONS, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=factor, src=weight.ap(pattern=[[0, PARTITIONS], [1, 1]], offset=0))
    for first, count, _ in row_tiles(rows, BANK, nl.program_id(axis=0), nl.num_programs(axes=0)):
        last = first + count
        chosen = nl.ndarray(shape=(count, 1), dtype=nl.int32, buffer=nl.sbuf)
        nisa.dma_copy(dst=chosen, src=contexts[first:last, 0:1])
        for left, right in parts(vocabulary, CHUNK):
            bias = _bias(table, chosen, left, right)
            tile = nl.ndarray(shape=(count, right - left), dtype=logits.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=logits[first:last, left:right])
            nisa.scalar_tensor_tensor(
                dst=tile, data=bias, op0=nl.multiply, operand0=factor[0:count, 0:1], op1=nl.add, operand1=tile
            )
            nisa.dma_copy(dst=mixed[first:last, left:right], src=tile)
    return mixed


@nki.jit
def ngram_mix_backward(dy: Any, contexts: Any, table: Any) -> Any:
    """Dy [N, V], contexts [N, 1] int32, table [H, V] -> the weight's gradient [cores, 1] fp32, in parts.

    Each partition sums up its rows; a product with ones adds up the partitions.
    """
    rows, vocabulary = dy.shape
    core, cores = nl.program_id(axis=0), nl.num_programs(axes=0)
    dweight = nl.ndarray(shape=(min(cores, rows), 1), dtype=nl.float32, buffer=nl.shared_hbm)
    tiles, chunks = row_tiles(rows, BANK, core, cores), parts(vocabulary, CHUNK)
    if tiles:
        sums = nl.ndarray(shape=(PARTITIONS, len(tiles) * len(chunks)), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=sums, value=0.0)
        for index, (first, count, _) in enumerate(tiles):
            last = first + count
            chosen = nl.ndarray(shape=(count, 1), dtype=nl.int32, buffer=nl.sbuf)
            nisa.dma_copy(dst=chosen, src=contexts[first:last, 0:1])
            for chunk, (left, right) in enumerate(chunks):
                column = index * len(chunks) + chunk
                bias = _bias(table, chosen, left, right)
                tile = nl.ndarray(shape=(count, right - left), dtype=dy.dtype, buffer=nl.sbuf)
                product = nl.ndarray(shape=(count, right - left), dtype=nl.float32, buffer=nl.sbuf)
                nisa.dma_copy(dst=tile, src=dy[first:last, left:right])
                nisa.tensor_tensor(dst=product, data1=tile, data2=bias, op=nl.multiply)
                nisa.tensor_reduce(
                    dst=sums[0:count, column : column + 1], op=nl.add, data=product, axis=1, keepdims=True
                )
        ones = nl.ndarray(shape=(PARTITIONS, 1), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray(shape=(PARTITIONS, 1), dtype=nl.float32, buffer=nl.sbuf)
        added = nl.ndarray(shape=(1, 1), dtype=nl.float32, buffer=nl.psum)
        out = nl.ndarray(shape=(1, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=ones, value=1.0)
        nisa.tensor_reduce(dst=total, op=nl.add, data=sums, axis=1, keepdims=True)
        nisa.nc_matmul(dst=added, stationary=ones, moving=total, accumulate=False)
        nisa.tensor_copy(dst=out, src=added)
        nisa.dma_copy(dst=dweight[core : core + 1, 0:1], src=out)
    return dweight


def _bias(table: Any, chosen: Any, left: int, right: int) -> Any:
    """Columns `left` to `right` of the rows of the table that `chosen` [count, 1] names."""
    count = chosen.shape[0]
    bias = nl.ndarray(shape=(count, right - left), dtype=table.dtype, buffer=nl.sbuf)
    pattern = [[table.shape[1], count], [1, right - left]]
    nisa.dma_copy(dst=bias, src=table.ap(pattern=pattern, offset=left, vector_offset=chosen))
    return bias
