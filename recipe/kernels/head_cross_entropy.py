"""Output head and cross entropy in one: logits = x weight^T, then the loss of softcap_cross_entropy, row by row.

x is [..., D] in any floating dtype, weight [V, D] in fp32, cast to the dtype of x, targets [...] whole numbers in 0 ..
V - 1, losses and their mean fp32. The logits are fp32, 128 rows x 512 columns at a time, and never in HBM: the
backward kernel makes them again. Their gradient is rounded to the dtype of x before it meets weight and x; sums are
fp32.

What the kernels need: 0 <= cap <= 20 (0: none); D <= 2048 (rows of weight and sums of that width stay in SBUF);
V < 2^24; x and weight contiguous. Any number of rows, LNC 1 and 2 (cores share the rows). Rows are taken in groups, as
many as SBUF holds beside a chunk of the weight, since the weight is read once for each group.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import torch
from torch import Tensor, nn
from torch_neuronx import wrap_nki

from recipe.kernels.products import (
    BANK,
    PARTITIONS,
    bytes_of,
    load,
    load_parts,
    parts,
    product,
    row_groups,
    transposed,
    transposed_blocks,
    turned_bytes,
)
from recipe.kernels.softcap_cross_entropy import (
    check_cap,
    chunk_sums,
    logit_gradient,
    losses_and_slope,
    new_sums,
    numbered_columns,
    row_losses,
    softcap_cross_entropy_reference,
)

MAX_WIDTH = 2048
CHUNK_LOGITS = 1 << 18  # that torch makes at once: 1 MiB in fp32, about half of a core's second cache
CHUNK_LOGITS_ON_DEVICE = 1 << 25  # 128 MiB in fp32: products of 4,096 rows at a vocabulary of 8,192
GROUP_BYTES = 96 * 1024  # of each partition of SBUF, for what a group of rows keeps there


class NkiHeadCrossEntropy(nn.Module):
    """Output head and cross entropy by the NKI kernels below."""

    def __init__(self, cap: float, lnc: int) -> None:
        """`cap`: of the logits; 0: none."""
        super().__init__()
        self.cap = cap
        self.lnc = lnc

    def forward(self, x: Tensor, weight: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """x [..., D], weight [V, D], targets [...] -> mean loss, and losses [...] without a gradient, in fp32."""
        losses: Tensor = HeadCrossEntropyFunction.apply(x, weight, targets, self.cap, self.lnc)  # type: ignore[no-untyped-call]
        return losses.mean(), losses.detach().view(targets.shape)


class TorchHeadCrossEntropy(nn.Module):
    """Output head and cross entropy by torch operators, a few rows at a time: the logits are never whole."""

    def __init__(self, cap: float) -> None:
        """`cap`: of the logits; 0: none."""
        super().__init__()
        self.cap = cap

    def forward(self, x: Tensor, weight: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """x [..., D], weight [V, D], targets [...] -> mean loss, and losses [...] without a gradient, in fp32."""
        rows, labels = x.flatten(0, -2), targets.flatten().long()
        loss, losses = HeadCrossEntropyByTorch.apply(rows, weight, labels, self.cap)  # type: ignore[no-untyped-call]
        return loss, losses.view(targets.shape)


class HeadCrossEntropyByTorch(torch.autograd.Function):
    """Loss and gradients are made together, chunk by chunk, so that a CPU finds a chunk's logits in its cache."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, targets: Tensor, cap: float) -> tuple[Tensor, Tensor]:
        """x [N, D], weight [V, D], targets [N] whole numbers -> mean loss, which keeps the gradients of x and weight;
        losses [N], which have none.
        """
        count, matrix = x.size(0), weight.to(x.dtype)
        dx, dweight = torch.empty_like(x), torch.zeros_like(weight, dtype=torch.float32)
        losses = torch.empty(count, dtype=torch.float32, device=x.device)
        for rows in chunks(x, weight):
            losses[rows], slope = losses_and_slope((x[rows] @ matrix.mT).float(), targets[rows], cap)
            add_products(dx[rows], dweight, slope.to(x.dtype), x[rows], matrix)
        ctx.save_for_backward(dx, dweight)
        ctx.dtype, ctx.count = weight.dtype, count
        ctx.mark_non_differentiable(losses)
        return losses.mean(), losses

    @staticmethod
    def backward(ctx: Any, dloss: Tensor, _: Tensor) -> tuple[Tensor, Tensor, None, None]:
        """The gradients of the losses times what each of them counts for in the mean."""
        dx, dweight = ctx.saved_tensors
        share = dloss / ctx.count
        return dx * share.to(dx.dtype), (dweight * share).to(ctx.dtype), None, None


def chunks(x: Tensor, weight: Tensor) -> Iterator[slice]:
    """The rows of x [N, D] a few at a time, as many as have the logits, by a weight [V, D], that are made at once."""
    at_once = max(1, (CHUNK_LOGITS if x.device.type == "cpu" else CHUNK_LOGITS_ON_DEVICE) // weight.size(0))
    for first in range(0, x.size(0), at_once):
        yield slice(first, first + at_once)


def add_products(dx: Tensor, dweight: Tensor, slope: Tensor, x: Tensor, matrix: Tensor) -> None:
    """Set dx [N, D] and add to dweight [V, D] what the gradient of the logits [N, V] makes of matrix [V, D] and x."""
    torch.mm(slope, matrix, out=dx)
    dweight.add_(slope.mT @ x)


def head_cross_entropy_reference(x: Tensor, weight: Tensor, targets: Tensor, cap: float) -> Tensor:
    """The definition, in fp32."""
    return softcap_cross_entropy_reference(x.float() @ weight.to(x.dtype).float().mT, targets, cap)


class HeadCrossEntropyFunction(torch.autograd.Function):
    """Autograd over the two kernels; the result is the loss of every row."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, targets: Tensor, cap: float, lnc: int) -> Tensor:
        """Run the forward kernel; keep the rows' logsumexp for the backward one."""
        rows = x.reshape(-1, x.size(-1)).contiguous()
        labels = targets.reshape(-1, 1).to(torch.int32)
        turned = weight.to(x.dtype).mT.contiguous()
        losses, lse = wrap_nki(head_cross_entropy_forward)[lnc](x=rows, turned=turned, targets=labels, cap=cap)
        ctx.save_for_backward(rows, weight, turned, labels, lse)
        ctx.cap, ctx.lnc, ctx.shape = cap, lnc, x.shape
        out: Tensor = losses
        return out

    @staticmethod
    def backward(ctx: Any, dlosses: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        """Gradients of x and weight; each core returns its part of the latter."""
        rows, weight, turned, labels, lse = ctx.saved_tensors
        dx, dweight = wrap_nki(head_cross_entropy_backward)[ctx.lnc](
            dlosses=dlosses.contiguous(),
            x=rows,
            weight=weight.to(rows.dtype).contiguous(),
            turned=turned,
            targets=labels,
            lse=lse,
            cap=ctx.cap,
        )
        return dx.view(ctx.shape), dweight.sum(0), None, None, None


@nki.jit
def head_cross_entropy_forward(x: Any, turned: Any, targets: Any, cap: float) -> Any:
    """x [N, D], the weight turned around [D, V], targets [N, 1] int32 -> losses, lse [N, 1] fp32."""
    rows, width = x.shape
    check_cap("head_cross_entropy_forward", cap)
    assert width <= MAX_WIDTH, f"head_cross_entropy_forward: D = {width}, must be at most {MAX_WIDTH}"
    losses = nl.ndarray(shape=(rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    lse = nl.ndarray(shape=(rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    columns = numbered_columns(min(BANK, turned.shape[1]))
    for group in row_groups(rows, turned_bytes(x), GROUP_BYTES):
        group_losses(x, turned, targets, cap, columns, group, losses, lse)
    return losses, lse


def group_losses(
    x: Any, turned: Any, targets: Any, cap: float, columns: Any, group: list[tuple[int, int]], losses: Any, lse: Any
) -> None:
    """Losses and logsumexp of a group of tiles of rows, each (first, last)."""
    width, vocabulary = turned.shape
    chunks = parts(vocabulary, BANK)
    inputs = [transposed([load(x[first:last, 0:width])]) for first, last in group]
    labels = [load(targets[first:last, 0:1]) for first, last in group]
    sums = [new_sums(last - first, len(chunks)) for first, last in group]
    for chunk, (start, end) in enumerate(chunks):
        weights = load_parts(turned, start, end)
        for tile, label, tile_sums in zip(inputs, labels, sums, strict=True):
            count = label.shape[0]
            logits = product(tile, weights, (0, count), (0, end - start))
            chunk_sums(logits, label, columns, start, cap, [column[0:count, chunk] for column in tile_sums])
    for (first, last), tile_sums in zip(group, sums, strict=True):
        loss, logarithm = row_losses(tile_sums, cap)
        nisa.dma_copy(dst=losses[first:last, 0:1], src=loss)
        nisa.dma_copy(dst=lse[first:last, 0:1], src=logarithm)


@nki.jit
def head_cross_entropy_backward(
    dlosses: Any, x: Any, weight: Any, turned: Any, targets: Any, lse: Any, cap: float
) -> Any:
    """Gradient of the losses [N, 1] fp32, the weight [V, D] like x, and what forward took and returned -> dx [N, D]
    like x, dweight [cores, V, D] fp32.

    With g the gradient of the logits: dx = g weight, dweight = g^T x, the latter added up in HBM from group to group.
    """
    rows, width = x.shape
    vocabulary = weight.shape[0]
    core, cores = nl.program_id(axis=0), nl.num_programs(axes=0)
    check_cap("head_cross_entropy_backward", cap)
    assert width <= MAX_WIDTH, f"head_cross_entropy_backward: D = {width}, must be at most {MAX_WIDTH}"
    dx = nl.ndarray(shape=(rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    dweight = nl.ndarray(shape=(min(cores, rows), vocabulary, width), dtype=nl.float32, buffer=nl.shared_hbm)
    columns = numbered_columns(min(BANK, vocabulary))
    itemsize = bytes_of(x.dtype)
    kept = turned_bytes(x) + width * (itemsize + 4) + BANK * itemsize  # x both ways, dx, and a chunk of the gradient
    for number, group in enumerate(row_groups(rows, kept, GROUP_BYTES)):
        group_gradients(
            (dlosses, x, weight, turned, targets, lse), cap, columns, group, (dx, dweight[core]), number > 0
        )
    return dx, dweight


def group_gradients(
    given: tuple[Any, ...], cap: float, columns: Any, group: list[tuple[int, int]], wanted: tuple[Any, Any], more: bool
) -> None:
    """dx of a group of tiles of rows, and its part of dweight: added to what is there if there is `more`."""
    dlosses, x, weight, turned, targets, lse = given
    dx, dweight = wanted
    width, vocabulary = turned.shape
    tiles = [load(x[first:last, 0:width]) for first, last in group]
    inputs = [transposed([tile]) for tile in tiles]
    rows = []
    for first, last in group:
        minus_lse = nl.ndarray(shape=(last - first, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=minus_lse, data=load(lse[first:last, 0:1]), op0=nl.multiply, operand0=-1.0)
        rows.append((load(targets[first:last, 0:1]), load(dlosses[first:last, 0:1]), minus_lse))
    sums = [nl.ndarray(shape=tile.shape, dtype=nl.float32, buffer=nl.sbuf) for tile in tiles]
    for start, end in parts(vocabulary, BANK):
        weights = load_parts(turned, start, end)
        errors = [
            tile_gradient(tile, weights, row, columns, start, cap, x.dtype)
            for tile, row in zip(inputs, rows, strict=True)
        ]
        natural = [
            load(weight[start + top : start + bottom, 0:width]) for top, bottom in parts(end - start, PARTITIONS)
        ]
        for error, total in zip(errors, sums, strict=True):
            add_product(total, transposed_blocks(error), natural, (0, error.shape[0]), start > 0)
        for top, bottom in parts(end - start, PARTITIONS):
            place = dweight[start + top : start + bottom, 0:width]
            total = load(place) if more else nl.ndarray(shape=place.shape, dtype=nl.float32, buffer=nl.sbuf)
            add_product(total, errors, tiles, (top, bottom), more)
            nisa.dma_copy(dst=place, src=total)
    for (first, last), total in zip(group, sums, strict=True):
        out = nl.ndarray(shape=total.shape, dtype=dx.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=out, src=total)
        nisa.dma_copy(dst=dx[first:last, 0:width], src=out)


def tile_gradient(
    tile: list[Any], weights: list[Any], row: tuple[Any, Any, Any], columns: Any, start: int, cap: float, dtype: Any
) -> Any:
    """The gradient [count, width] of one tile's logits, made again for the chunk of columns that starts at `start`."""
    count, width = tile[0].shape[1], weights[0].shape[1]
    error = nl.ndarray(shape=(count, width), dtype=dtype, buffer=nl.sbuf)
    logit_gradient(error, product(tile, weights, (0, count), (0, width)), row, columns, start, cap)
    return error


def add_product(total: Any, stationary: list[Any], moving: list[Any], rows: tuple[int, int], more: bool) -> None:
    """Write the product to `total` in SBUF, 512 columns at a time; added to what is there if there is `more`."""
    count, width = total.shape
    for left, right in parts(width, BANK):
        added = product(stationary, moving, rows, (left, right))
        place = total[0:count, left:right]
        if more:
            nisa.tensor_tensor(dst=place, data1=place, data2=added, op=nl.add)
        else:
            nisa.tensor_copy(dst=place, src=added)
