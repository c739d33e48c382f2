"""The gradients of a product y = x W^T, with x [N, K], W [M, K] and y [N, M]: dx = dy W and dW = dy^T x.

The operands are fp32 or bf16, W cast to the dtype of dy; sums are fp32. dx has the dtype of dy; dW leaves its kernel in
fp32, as weights are, and is cast if they are not.

What the kernels need: operands contiguous; M <= 32768 for dx (dy turned around stays in SBUF, 128 rows of it or more).
Any number of rows and columns, LNC 1 and 2: the cores share the rows of dx and those of dW.
"""

from __future__ import annotations

from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import torch
from torch import Tensor
from torch_neuronx import wrap_nki

from recipe.kernels.products import (
    BANK,
    GROUP_BYTES,
    GROUP_TILES,
    PARTITIONS,
    load,
    parts,
    row_groups,
    turned_bytes,
    turned_rows,
    write_output,
)

MAX_OUTPUTS = 32768
BLOCK_BANKS = 2  # banks of PSUM for each tile of rows of dW: all eight, for a group of four


def nki_input_gradient(dy: Tensor, weight: Tensor, lnc: int) -> Tensor:
    """dy [N, M] and W [M, K], cast to its dtype -> dx [N, K] like dy."""
    dx: Tensor = wrap_nki(input_gradient)[lnc](dy=dy, weight=weight.to(dy.dtype))
    return dx


def nki_weight_gradient(dy: Tensor, x: Tensor, dtype: torch.dtype, lnc: int) -> Tensor:
    """dy [N, M] and x [N, K] -> dW [M, K] in `dtype`, that of the weights."""
    dweight: Tensor = wrap_nki(weight_gradient)[lnc](dy=dy, x=x)
    return dweight.to(dtype)


def input_gradient_reference(dy: Tensor, weight: Tensor) -> Tensor:
    """The definition of dx."""
    return dy @ weight.to(dy.dtype)


def weight_gradient_reference(dy: Tensor, x: Tensor, dtype: torch.dtype) -> Tensor:
    """The definition of dW, rounded to the dtype of x on the way."""
    return (dy.mT @ x).to(dtype)


@nki.jit
def input_gradient(dy: Any, weight: Any) -> Any:
    """dy [N, M], weight [M, K] like dy -> dx [N, K] like dy. The weight is read once for each group of rows."""
    (rows, outputs), inputs = dy.shape, weight.shape[1]
    assert outputs <= MAX_OUTPUTS, f"input_gradient: M = {outputs}, must be at most {MAX_OUTPUTS}"
    dx = nl.ndarray(shape=(rows, inputs), dtype=dy.dtype, buffer=nl.shared_hbm)
    kept = turned_bytes(dy)
    for group in row_groups(rows, kept, min(GROUP_BYTES, GROUP_TILES * kept)):
        write_output(turned_rows(dy, group), weight, group, dx)
    return dx


@nki.jit
def weight_gradient(dy: Any, x: Any) -> Any:
    """dy [N, M], x [N, K] like dy -> dW [M, K] fp32. Both lie as the Tensor engine wants them: the rows, over which it
    sums, on partitions.
    """
    dweight = nl.ndarray(shape=(dy.shape[1], x.shape[1]), dtype=nl.float32, buffer=nl.shared_hbm)
    for group in row_groups(dy.shape[1], 1, GROUP_TILES):  # of a tile, all that is kept is its sums, in PSUM
        for left, right in parts(x.shape[1], BLOCK_BANKS * BANK):
            write_block(dy, x, group, left, right, dweight)
    return dweight


def write_block(dy: Any, x: Any, group: list[tuple[int, int]], left: int, right: int, dweight: Any) -> None:
    """Columns `left` to `right` of a group of tiles of dW, which for each tile are so many banks of PSUM.

    The larger the block, the less often x and dy are read, and the longer the pieces that they are read by.
    """
    start, stop = group[0][0], group[-1][1]
    columns = parts(right - left, BANK)
    places = [(first - start, last - start, low, high) for first, last in group for low, high in columns]
    sums = [
        nl.ndarray(shape=(last - first, high - low), dtype=nl.float32, buffer=nl.psum)
        for first, last, low, high in places
    ]
    for k, (top, bottom) in enumerate(parts(x.shape[0], PARTITIONS)):
        slopes, data, depth = load(dy[top:bottom, start:stop]), load(x[top:bottom, left:right]), bottom - top
        for total, (first, last, low, high) in zip(sums, places, strict=True):
            nisa.nc_matmul(
                dst=total, stationary=slopes[0:depth, first:last], moving=data[0:depth, low:high], accumulate=k > 0
            )
    for total, (first, last, low, high) in zip(sums, places, strict=True):
        out = nl.ndarray(shape=total.shape, dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=out, src=total)
        nisa.dma_copy(dst=dweight[start + first : start + last, left + low : left + high], src=out)
