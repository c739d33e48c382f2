"""Embedding: rows of a table, chosen by tokens; its gradient is the sum, for each row of the table, of the gradients of
all tokens that chose it.

Tokens are [...] whole numbers in 0 .. V - 1, the table is [V, D] fp32; rows come in fp32 or rounded to bf16. The
gradient of the table is fp32, whatever the dtype of the rows.

The gather takes 128 rows at a time. A DMA that adds to rows must not be given a row twice, so the backward kernel
merges equal tokens of its 128 first: with S[p, q] = (token p == token q), S times the gradients gives every token the
sum over its like; the first of them adds it, and the others' rows are sent outside of the table, where they are
skipped. S is 0 or 1, so the products are exact and the sums are fp32.

What the kernels need: V <= 2^23 (tokens are compared in fp32); D <= 8192; table and gradients contiguous. Any number of
tokens, LNC 1 and 2. In the gather the cores share the tokens; in the scatter the columns, so that no row is added to by
both.
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
from recipe.kernels.tiling import row_tiles, share

MAX_ROWS = 2**23
MAX_WIDTH = 8192


class NkiEmbedding(nn.Embedding):
    """The embedding by the NKI kernels below."""

    def __init__(self, rows: int, width: int, dtype: torch.dtype, lnc: int) -> None:
        """`dtype`: of the result, fp32 or bf16."""
        super().__init__(num_embeddings=rows, embedding_dim=width)
        self.dtype = dtype
        self.lnc = lnc

    def forward(self, input: Tensor) -> Tensor:
        """Tokens [...] -> [..., D]."""
        rows: Tensor = EmbeddingFunction.apply(input, self.weight, self.dtype, self.lnc)  # type: ignore[no-untyped-call]
        return rows


def embedding_reference(tokens: Tensor, table: Tensor, dtype: torch.dtype) -> Tensor:
    """The definition: tokens [...], table [V, D] -> [..., D]."""
    return table[tokens].to(dtype)


class EmbeddingFunction(torch.autograd.Function):
    """Autograd over the two kernels."""

    @staticmethod
    def forward(ctx: Any, tokens: Tensor, table: Tensor, dtype: torch.dtype, lnc: int) -> Tensor:
        """Run the gather; keep the tokens for the scatter."""
        chosen = tokens.reshape(-1, 1).to(torch.int32)
        ctx.save_for_backward(chosen)
        ctx.shape, ctx.lnc = table.shape, lnc
        rows = wrap_nki(embedding_gather)[lnc](tokens=chosen, table=table, low=dtype == torch.bfloat16)
        out: Tensor = rows.view(*tokens.shape, table.size(1))
        return out

    @staticmethod
    def backward(ctx: Any, drows: Tensor) -> tuple[None, Tensor, None, None]:
        """Gradient of the table."""
        (chosen,) = ctx.saved_tensors
        dtable: Tensor = wrap_nki(embedding_scatter_add)[ctx.lnc](
            drows=drows.reshape(chosen.size(0), -1).contiguous(),
            tokens=chosen,
            dtable=torch.zeros(ctx.shape, dtype=torch.float32, device=drows.device),
        )
        return None, dtable, None, None


@nki.jit
def embedding_gather(tokens: Any, table: Any, low: bool) -> Any:
    """Tokens [N, 1] int32, table [V, D] fp32 -> rows [N, D], in bf16 if `low`, else in fp32. The DMA converts."""
    total, width = tokens.shape[0], table.shape[1]
    assert width <= MAX_WIDTH, f"embedding_gather: D = {width}, must be at most {MAX_WIDTH}"
    dtype = nl.bfloat16 if low else nl.float32
    rows = nl.ndarray(shape=(total, width), dtype=dtype, buffer=nl.shared_hbm)
    for first, count, _ in row_tiles(total, BANK, nl.program_id(axis=0), nl.num_programs(axes=0)):
        last = first + count
        chosen = nl.ndarray(shape=(count, 1), dtype=nl.int32, buffer=nl.sbuf)
        tile = nl.ndarray(shape=(count, width), dtype=dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=chosen, src=tokens[first:last, 0:1])
        nisa.dma_copy(dst=tile, src=table.ap(pattern=[[width, count], [1, width]], offset=0, vector_offset=chosen))
        nisa.dma_copy(dst=rows[first:last, 0:width], src=tile)
    return rows


@nki.jit
def embedding_scatter_add(drows: Any, tokens: Any, dtable: Any) -> Any:
    """Gradients of rows [N, D], tokens [N, 1] int32, dtable [V, D] fp32 -> dtable, written in place: each gradient is
    added to its token's row.
    """
    (total, width), vocabulary = drows.shape, dtable.shape[0]
    assert width <= MAX_WIDTH, f"embedding_scatter_add: D = {width}, must be at most {MAX_WIDTH}"
    assert vocabulary <= MAX_ROWS, f"embedding_scatter_add: V = {vocabulary}, must be at most {MAX_ROWS}"
    left, right = share(width, nl.program_id(axis=0), nl.num_programs(axes=0))
    for first, last in parts(total, PARTITIONS) if right > left else []:
        count = last - first
        gradient = nl.ndarray(shape=(count, right - left), dtype=drows.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=gradient, src=drows[first:last, left:right])
        alike, target = _merged(tokens, first, count, vocabulary, drows.dtype)
        merged = nl.ndarray(shape=(count, right - left), dtype=nl.float32, buffer=nl.sbuf)
        for start, end in parts(right - left, BANK):
            summed = nl.ndarray(shape=(count, end - start), dtype=nl.float32, buffer=nl.psum)
            nisa.nc_matmul(
                dst=summed,
                stationary=alike,
                moving=gradient[0:count, start:end],
                accumulate=False,
            )
            nisa.tensor_copy(dst=merged[0:count, start:end], src=summed)
        rows = dtable.ap(pattern=[[width, count], [1, right - left]], offset=left, vector_offset=target)
        nisa.dma_compute(dst=rows, srcs=[rows, merged], reduce_op=nl.add, oob_mode=nisa.oob_mode.skip)
    return dtable


def _merged(tokens: Any, first: int, count: int, vocabulary: int, dtype: Any) -> tuple[Any, Any]:
    """For `count` tokens: which are alike, [count, count] of 0 and 1 in `dtype`; and the row that each adds to,
    [count, 1] int32, outside of the table for all but the first of those alike.
    """
    column = nl.ndarray(shape=(count, 1), dtype=nl.int32, buffer=nl.sbuf)
    wide = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
    row = nl.ndarray(shape=(count, count), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=column, src=tokens[first : first + count, 0:1])
    nisa.tensor_copy(dst=wide, src=column)
    nisa.dma_copy(dst=row, src=tokens.ap(pattern=[[0, count], [1, count]], offset=first))
    alike = nl.ndarray(shape=(count, count), dtype=dtype, buffer=nl.sbuf)
    earlier = nl.ndarray(shape=(count, count), dtype=dtype, buffer=nl.sbuf)
    seen = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
    target = nl.ndarray(shape=(count, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=alike, data=row, op0=nl.equal, operand0=wide)
    nisa.affine_select(  # on row p, the columns before p
        dst=earlier,
        pattern=[[-1, count]],
        channel_multiplier=1,
        on_true_tile=alike,
        on_false_value=0.0,
        cmp_op=nl.greater,
    )
    nisa.tensor_reduce(dst=seen, op=nl.maximum, data=earlier, axis=1, keepdims=True)
    nisa.scalar_tensor_tensor(
        dst=target, data=seen, op0=nl.multiply, operand0=float(vocabulary), op1=nl.add, operand1=wide
    )
    return alike, target
