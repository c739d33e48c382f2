"""Causal attention in tiles, with an online softmax: y = softmax(q k^T / sqrt(D)) v, head by head (Dao, 2023).

Position t sees itself and what lies before it: everything, or, with a window W > 0, the last W positions, itself
included. q, k and v are [B, T, H, D] in any floating dtype; y has the dtype of q. Scores, maxima and sums are fp32;
weights are rounded to the dtype of q before they meet v. The scores are never in HBM: the backward kernel makes them
again from the logarithms of the rows' sums, which the forward one leaves.

What the kernels need: D <= 256, in products over at most 128 at a time; T * D <= 524,288 (keys and values of a head
stay in SBUF; in the backward kernel also their gradients, in fp32); q, k and v contiguous, of equal shape. Any B, T and
H, LNC 1 and 2 (cores share the heads of the whole batch). 128 queries are taken at a time, with 512 keys or fewer: one
bank of PSUM. Heads that lie side by side and fit are loaded and stored together, since a DMA of few bytes in a row is
slow.
"""

from __future__ import annotations

from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import torch
from torch import Tensor, nn
from torch_neuronx import wrap_nki

from recipe.kernels.attention_tiles import (
    head_columns,
    hide,
    hides,
    key_chunks,
    load_positions,
    load_tiles,
    runs_of_core,
    store_tiles,
    turned_heads,
)
from recipe.kernels.products import (
    PARTITIONS,
    bytes_of,
    even_blocks,
    load,
    parts,
    product,
    transposed,
    transposed_blocks,
)

MAX_HEAD = 256
MAX_ELEMENTS = 2048 * 256  # of one head: T * D
HIDDEN = -1e30  # the score of a key that a query must not see: exp gives exactly 0 beside any other


class NkiAttention(nn.Module):
    """Causal attention by the NKI kernels below."""

    def __init__(self, window: int, lnc: int) -> None:
        """`window`: positions that a query sees, itself included; 0: all before it."""
        super().__init__()
        self.window = window
        self.lnc = lnc

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q, k, v [B, H, T, D] -> [B, H, T, D]."""
        y: Tensor = AttentionFunction.apply(  # type: ignore[no-untyped-call]
            q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), self.window, self.lnc
        )
        return y.transpose(1, 2)


class TorchAttention(nn.Module):
    """Causal attention by torch operators, written out."""

    def __init__(self, window: int) -> None:
        """`window`: positions that a query sees, itself included; 0: all before it."""
        super().__init__()
        self.window = window

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q, k, v [B, H, T, D] -> [B, H, T, D]."""
        return attention_reference(q, k, v, self.window)


def attention_reference(q: Tensor, k: Tensor, v: Tensor, window: int) -> Tensor:
    """The definition for q, k, v [B, H, T, D], with the softmax in fp32."""
    scores = (q @ k.transpose(-2, -1)).float() * q.size(-1) ** -0.5
    weights: Tensor = scores.masked_fill(hidden_keys(q.size(-2), window, q.device), float("-inf")).softmax(-1)
    return weights.to(v.dtype) @ v


def hidden_keys(positions: int, window: int, device: torch.device) -> Tensor:
    """[T, T], true where the query (row) must not see the key (column)."""
    everything = torch.ones(positions, positions, dtype=torch.bool, device=device)
    hidden = everything.triu(1)
    if window > 0:
        hidden = hidden | everything.tril(-window)
    return hidden


class AttentionFunction(torch.autograd.Function):
    """Autograd over the two kernels; tensors are [B, T, H, D] here."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, window: int, lnc: int) -> Tensor:
        """Run the forward kernel; keep its result and the rows' logsumexp for the backward one."""
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        y, lse = wrap_nki(flash_attention_forward)[lnc](q=q, k=k, v=v, window=window)
        ctx.save_for_backward(q, k, v, y, lse)
        ctx.window, ctx.lnc = window, lnc
        out: Tensor = y
        return out

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        """Gradients of q, k and v."""
        q, k, v, y, lse = ctx.saved_tensors
        dq, dk, dv = wrap_nki(flash_attention_backward)[ctx.lnc](
            dy=dy.contiguous(), q=q, k=k, v=v, y=y, lse=lse, window=ctx.window
        )
        return dq, dk, dv, None, None


@nki.jit
def flash_attention_forward(q: Any, k: Any, v: Any, window: int) -> Any:
    """q, k, v [B, T, H, D] -> y [B, T, H, D] like q, lse [B, T, H] fp32: the logarithm of each row's sum."""
    batch, positions, heads, width = q.shape
    check_sizes("flash_attention_forward", q, k, v)
    y = nl.ndarray(shape=(batch, positions, heads, width), dtype=q.dtype, buffer=nl.shared_hbm)
    lse = nl.ndarray(shape=(batch, positions, heads), dtype=nl.float32, buffer=nl.shared_hbm)
    for row, heads_taken in runs_of_core(q, 3 * bytes_of(q.dtype)):
        attend_heads(q, k, v, row, heads_taken, window, y, lse)
    return y, lse


def attend_heads(q: Any, k: Any, v: Any, row: int, taken: tuple[int, int], window: int, y: Any, lse: Any) -> None:
    """y and lse of the heads `taken` of one row. Their keys and values are in SBUF until this returns."""
    (left, right), width = taken, q.shape[3]
    columns = head_columns(right - left, width)
    keys = turned_heads(load_tiles(k, row, taken), columns)
    values = load_tiles(v, row, taken)
    for first, last in parts(q.shape[1], PARTITIONS):
        count = last - first
        queries = load_positions(q, row, taken, first, last)
        out = nl.ndarray(shape=(count, (right - left) * width), dtype=q.dtype, buffer=nl.sbuf)
        logarithms = nl.ndarray(shape=(count, right - left), dtype=nl.float32, buffer=nl.sbuf)
        for head, (start, end) in enumerate(columns):
            attend(
                transposed([queries[0:count, start:end]]),
                keys[head],
                [tile[0 : tile.shape[0], start:end] for tile in values],
                first,
                window,
                out[0:count, start:end],
                logarithms[0:count, head : head + 1],
            )
        nisa.dma_copy(dst=y[row, first:last, left:right, 0:width], src=out)
        nisa.dma_copy(dst=lse[row, first:last, left:right], src=logarithms)


def attend(query: list[Any], keys: list[Any], values: list[Any], first: int, window: int, out: Any, lse: Any) -> None:
    """Write y [count, D] and lse [count, 1] of queries from position `first` on, turned around, over all keys that they
    see.

    After each chunk of keys: m is the largest score so far, total the sum of exp(score - m), and mixed the sum of
    exp(score - m) * v; a larger m scales both down.
    """
    count, width = out.shape
    column, scale = (count, 1), width**-0.5
    m = total = mixed = None
    for start, end in key_chunks(first, first + count, window):
        scores = product(query, keys, (0, count), (start, end))
        if hides(first, count, start, end, window):
            copied = nl.ndarray(shape=(count, end - start), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(dst=copied, src=scores, engine=nisa.engine.scalar)  # GpSimd does not reach PSUM
            scores = hide(copied, first, start, window, HIDDEN)
        top = nl.ndarray(shape=column, dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=top, op=nl.maximum, data=scores, axis=1, keepdims=True)
        if m is not None:
            higher = nl.ndarray(shape=column, dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=higher, data1=top, data2=m, op=nl.maximum)
            top = higher
        bias = nl.ndarray(shape=column, dtype=nl.float32, buffer=nl.sbuf)
        weights = nl.ndarray(shape=(count, end - start), dtype=out.dtype, buffer=nl.sbuf)
        part = nl.ndarray(shape=column, dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=bias, data=top, op0=nl.multiply, operand0=-scale)
        nisa.activation(
            dst=weights,
            op=nl.exp,
            data=scores,
            scale=scale,
            bias=bias,
            reduce_op=nl.add,
            reduce_res=part,
            reduce_cmd=nisa.reduce_cmd.reset_reduce,
        )
        below = [values[tile] for tile in range(start // PARTITIONS, (end + PARTITIONS - 1) // PARTITIONS)]
        added = product(transposed_blocks(weights), below, (0, count), (0, width))
        if m is None:
            mixed = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(dst=mixed, src=added)
            total = part
        else:
            keep = nl.ndarray(shape=column, dtype=nl.float32, buffer=nl.sbuf)  # exp of (old m - new m) / sqrt(D)
            more = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
            sums = nl.ndarray(shape=column, dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation(dst=keep, op=nl.exp, data=m, scale=scale, bias=bias)
            nisa.scalar_tensor_tensor(dst=more, data=mixed, op0=nl.multiply, operand0=keep, op1=nl.add, operand1=added)
            nisa.scalar_tensor_tensor(dst=sums, data=total, op0=nl.multiply, operand0=keep, op1=nl.add, operand1=part)
            mixed, total = more, sums
        m = top
    inverse = nl.ndarray(shape=column, dtype=nl.float32, buffer=nl.sbuf)
    logarithm = nl.ndarray(shape=column, dtype=nl.float32, buffer=nl.sbuf)
    nisa.reciprocal(dst=inverse, data=total)
    nisa.tensor_scalar(dst=out, data=mixed, op0=nl.multiply, operand0=inverse)
    nisa.activation(dst=logarithm, op=nl.log, data=total)
    nisa.scalar_tensor_tensor(dst=lse, data=m, op0=nl.multiply, operand0=scale, op1=nl.add, operand1=logarithm)


@nki.jit
def flash_attention_backward(dy: Any, q: Any, k: Any, v: Any, y: Any, lse: Any, window: int) -> Any:
    """dy [B, T, H, D], and what forward took and returned -> dq, dk, dv [B, T, H, D] like q.

    With p = exp(q k^T / sqrt(D) - lse) and e = p * (dy v^T - sum over D of dy * y):
    dv = p^T dy, dk = e^T q / sqrt(D), dq = e k / sqrt(D).
    """
    check_sizes("flash_attention_backward", q, k, v)
    dq = nl.ndarray(shape=q.shape, dtype=q.dtype, buffer=nl.shared_hbm)
    dk = nl.ndarray(shape=q.shape, dtype=q.dtype, buffer=nl.shared_hbm)
    dv = nl.ndarray(shape=q.shape, dtype=q.dtype, buffer=nl.shared_hbm)
    for row, taken in runs_of_core(q, 4 * bytes_of(q.dtype) + 8):
        retrace_heads((dy, q, k, v, y, lse), row, taken, window, (dq, dk, dv))
    return dq, dk, dv


def retrace_heads(
    given: tuple[Any, ...], row: int, taken: tuple[int, int], window: int, wanted: tuple[Any, Any, Any]
) -> None:
    """dq, dk and dv of the heads `taken` of one row. What this keeps in SBUF is free again when it returns."""
    dy, q, k, v, y, lse = given
    dq, dk, dv = wanted
    (left, right), width = taken, q.shape[3]
    columns = head_columns(right - left, width)
    natural = load_tiles(k, row, taken)
    keys, values = turned_heads(natural, columns), turned_heads(load_tiles(v, row, taken), columns)
    shape = (PARTITIONS, len(natural), columns[-1][1])
    key_sums = nl.ndarray(shape=shape, dtype=nl.float32, buffer=nl.sbuf)
    value_sums = nl.ndarray(shape=shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=key_sums, value=0.0)
    nisa.memset(dst=value_sums, value=0.0)
    for first, last in parts(q.shape[1], PARTITIONS):
        tiles = [load_positions(x, row, taken, first, last) for x in (dy, q, y)]
        rows = row_values(tiles[0], tiles[2], load(lse[row, first:last, left:right]))
        out = nl.ndarray(shape=(last - first, columns[-1][1]), dtype=q.dtype, buffer=nl.sbuf)
        for head, (start, end) in enumerate(columns):
            sums = retrace(
                [tile[0 : last - first, start:end] for tile in tiles[0:2]],
                [column[0 : last - first, head : head + 1] for column in rows],
                ([tile[0 : tile.shape[0], start:end] for tile in natural], keys[head], values[head]),
                [total[0:PARTITIONS, 0 : shape[1], start:end] for total in (value_sums, key_sums)],
                first,
                window,
            )
            nisa.activation(dst=out[0 : last - first, start:end], op=nl.copy, data=sums, scale=width**-0.5)
        nisa.dma_copy(dst=dq[row, first:last, left:right, 0:width], src=out)
    store_tiles(dk, row, taken, key_sums, width**-0.5)
    store_tiles(dv, row, taken, value_sums, 1.0)


def row_values(dy: Any, y: Any, lse: Any) -> tuple[Any, Any]:
    """For every query and head: the sum over D of dy * y, and minus the logarithm of the row's sum, [count, heads]."""
    (count, heads), width = lse.shape, y.shape[1] // lse.shape[1]
    both = nl.ndarray(shape=(count, heads, width), dtype=nl.float32, buffer=nl.sbuf)
    along = nl.ndarray(shape=(count, heads), dtype=nl.float32, buffer=nl.sbuf)
    minus_lse = nl.ndarray(shape=(count, heads), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=both, data1=dy, data2=y, op=nl.multiply)
    nisa.tensor_reduce(dst=along, op=nl.add, data=both, axis=2)
    nisa.tensor_scalar(dst=minus_lse, data=lse, op0=nl.multiply, operand0=-1.0)
    return along, minus_lse


def retrace(
    tiles: list[Any],
    rows: list[Any],
    head: tuple[list[Any], list[Any], list[Any]],
    sums: list[Any],
    first: int,
    window: int,
) -> Any:
    """Queries from position `first` on against all keys that they see; adds to dv and dk * sqrt(D) in `sums`, and
    returns dq * sqrt(D), fp32 in PSUM.

    `tiles`: dy and q of the queries; `rows`: their values as `row_values` gives them; `head`: its keys, and keys and
    values turned around.
    """
    (dy, q), (along, minus_lse) = tiles, rows
    natural, keys, values = head
    count, width = q.shape
    query, slope = transposed([q]), transposed([dy])
    dq = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.psum)
    started = False
    for start, end in key_chunks(first, first + count, window):
        shape = (count, end - start)
        weights = nl.ndarray(shape=shape, dtype=q.dtype, buffer=nl.sbuf)
        errors = nl.ndarray(shape=shape, dtype=q.dtype, buffer=nl.sbuf)
        scores = product(query, keys, (0, count), (start, end))
        nisa.activation(dst=weights, op=nl.exp, data=scores, scale=width**-0.5, bias=minus_lse)
        if hides(first, count, start, end, window):
            weights = hide(weights, first, start, window, 0.0)
        scores = product(slope, values, (0, count), (start, end))  # dy v^T, in place of what is not needed any more
        nisa.scalar_tensor_tensor(
            dst=errors, data=scores, op0=nl.subtract, operand0=along, op1=nl.multiply, operand1=weights
        )
        add_products(sums[0], start, weights, dy)
        add_products(sums[1], start, errors, q)
        for block, turned in enumerate(transposed_blocks(errors)):
            below = natural[start // PARTITIONS + block]
            nisa.nc_matmul(dst=dq, stationary=turned, moving=below, accumulate=started)
            started = True
    return dq


def add_products(total: Any, start: int, weights: Any, moving: Any) -> None:
    """Add weights^T @ moving to the tiles of keys `start` and on in `total` [128, tiles, D]."""
    (count, length), width = weights.shape, moving.shape[1]
    space = 1 << (width - 1).bit_length()  # a power of two, so that no product crosses from one bank to the next
    blocks = parts(length, PARTITIONS)
    added = nl.ndarray(shape=(PARTITIONS, len(blocks), space), dtype=nl.float32, buffer=nl.psum)
    for block, (left, right) in enumerate(blocks):
        nisa.nc_matmul(
            dst=added[0 : right - left, block, 0:width],
            stationary=weights[0:count, left:right],
            moving=moving,
            accumulate=False,
        )
    for first, end, height in even_blocks(length):
        tile = start // PARTITIONS
        place = total[0:height, tile + first : tile + end, 0:width]
        nisa.tensor_tensor(dst=place, data1=place, data2=added[0:height, first:end, 0:width], op=nl.add)


def check_sizes(kernel: str, q: Any, k: Any, v: Any) -> None:
    """Refuse what the kernels cannot do."""
    positions, width = q.shape[1], q.shape[3]
    assert q.shape == k.shape == v.shape, f"{kernel}: q {q.shape}, k {k.shape} and v {v.shape} must have one shape"
    assert width <= MAX_HEAD, f"{kernel}: D = {width}, must be at most {MAX_HEAD}"
    assert positions * width <= MAX_ELEMENTS, f"{kernel}: T * D = {positions * width}, must be at most {MAX_ELEMENTS}"
