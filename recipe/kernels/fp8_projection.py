"""A projection y = x W^T by products in fp8: float8_e4m3 (1 sign, 4 exponent, 3 mantissa bits, largest value 240), of
which the Tensor engine does two at a time (double_row).

Every row of x and every row of W has a scale of its own, its largest magnitude / 240, and is divided by it, so that it
fills the format's range whatever its size:

    y[n, m] = scale_x[n] scale_W[m] sum over k of e4m3(x[n, k] / scale_x[n]) e4m3(W[m, k] / scale_W[m])

x is [..., K] in fp32 or bf16, W [M, K] fp32; y has the dtype of x. Quotients are rounded to the operand's dtype,
clamped to +-240 (beyond it e4m3 has infinity) and rounded to e4m3; sums are fp32. The scales of all rows of W are one
table in HBM, from which it comes back side by side, for every row of a tile.

The backward pass is that of the plain product, in the dtype of x, by the kernels of `linear_backward`. Gradients are
not rounded to fp8, because within a row they span more than the 18 binades of e4m3, and e5m2, which has the range,
keeps two bits of mantissa: an error of up to 1/8 in every term of every sum.

What the kernel needs: x contiguous; W in fp8, its table, and a tile of y in SBUF at once (`sbuf_bytes`: W up to 8192 x
1152, 4608 x 1152, 1152 x 4608). Any number of rows and columns, LNC 1 and 2; the cores share the rows of x.
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

from recipe.kernels.linear_backward import (
    input_gradient_reference,
    nki_input_gradient,
    nki_weight_gradient,
    weight_gradient_reference,
)
from recipe.kernels.products import BANK, PARTITIONS, load, parts
from recipe.kernels.tiling import row_tiles

LARGEST = 240.0
SMALLEST = 2.0**-60  # stands for the largest magnitude of a row of zeros, so that its scale can be divided by
PAIRED = 2 * PARTITIONS  # what one double_row product sums over


class NkiFp8Projection(nn.Linear):
    """The projection by the NKI kernel below."""

    def __init__(self, in_features: int, out_features: int, lnc: int) -> None:
        super().__init__(in_features, out_features, bias=False)
        self.lnc = lnc

    def forward(self, x: Tensor) -> Tensor:
        """[..., K] -> [..., M], same dtype."""
        y: Tensor = Fp8ProjectionFunction.apply(x, self.weight, self.lnc)  # type: ignore[no-untyped-call]
        return y


class TorchFp8Projection(nn.Linear):
    """The projection by torch operators, in fp8 like the kernel's."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__(in_features, out_features, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """[..., K] -> [..., M], same dtype."""
        y: Tensor = TorchFp8ProjectionFunction.apply(x, self.weight)  # type: ignore[no-untyped-call]
        return y


def fp8_projection_reference(x: Tensor, weight: Tensor) -> Tensor:
    """The definition, summed in fp32."""
    x8, x_scale = quantized_reference(x)
    weight8, weight_scale = quantized_reference(weight)
    return (F.linear(x8, weight8) * x_scale * weight_scale.squeeze(-1)).to(x.dtype)


def quantized_reference(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Rows [..., K] -> their values in e4m3, as fp32, and their scales [..., 1].

    torch's own e4m3 type is another one, with values up to 448; up to 240 the two are the same.
    """
    scale = rows.float().abs().amax(-1, keepdim=True).clamp(min=SMALLEST) * (1.0 / LARGEST)
    scaled = (rows.float() * (1.0 / scale)).to(rows.dtype).float().clamp(-LARGEST, LARGEST)
    return scaled.to(torch.float8_e4m3fn).float(), scale


class Fp8ProjectionFunction(torch.autograd.Function):
    """Autograd over the kernel and those of the plain product's gradients."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, lnc: int) -> Tensor:
        """Run the kernel; keep x and the weights."""
        rows = x.reshape(-1, x.size(-1)).contiguous()
        ctx.save_for_backward(rows, weight)
        ctx.lnc = lnc
        y: Tensor = wrap_nki(fp8_projection_forward)[lnc](x=rows, weight=weight)
        return y.view(*x.shape[:-1], weight.size(0))

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, None]:
        """Gradients of x and the weights."""
        rows, weight = ctx.saved_tensors
        slopes = dy.reshape(rows.size(0), -1).contiguous()
        dx = nki_input_gradient(slopes, weight, ctx.lnc).view(*dy.shape[:-1], rows.size(1))
        return dx, nki_weight_gradient(slopes, rows, weight.dtype, ctx.lnc), None


class TorchFp8ProjectionFunction(torch.autograd.Function):
    """The same with the definition in the place of the kernel."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        """Project; keep x and the weights."""
        ctx.save_for_backward(x.reshape(-1, x.size(-1)), weight)
        return fp8_projection_reference(x, weight)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor]:
        """Gradients of x and the weights."""
        rows, weight = ctx.saved_tensors
        return plain_gradients(rows, weight, dy)


def plain_gradients(rows: Tensor, weight: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of x, given as rows [N, K], and of the weights [M, K], of the plain product, under dy [..., M]."""
    slopes = dy.reshape(rows.size(0), -1)
    dx = input_gradient_reference(slopes, weight)
    return dx.view(*dy.shape[:-1], rows.size(1)), weight_gradient_reference(slopes, rows, weight.dtype)


def sbuf_bytes(outputs: int, inputs: int, itemsize: int) -> int:
    """What the kernel holds of each partition of SBUF at once: W, its table, tiles of y, x and a row of W."""
    chunks = -(-inputs // PAIRED)
    return outputs * (2 * chunks + 4 + 2 * itemsize) + inputs * 4 * 4 + chunks * PAIRED


@nki.jit
def fp8_projection_forward(x: Any, weight: Any) -> Any:
    """x [N, K], weight [M, K] fp32 or bf16 -> y [N, M] like x."""
    (rows, inputs), outputs = x.shape, weight.shape[0]
    need = sbuf_bytes(outputs, inputs, 4 if x.dtype == nl.float32 else 2)
    limit = nl.tile_size.sbuf_fmax_bytes
    assert need <= limit, (
        f"fp8_projection_forward: weights {outputs} x {inputs} need {need} bytes of each SBUF partition, {limit} are "
        "there"
    )
    y = nl.ndarray(shape=(rows, outputs), dtype=x.dtype, buffer=nl.shared_hbm)
    scales = nl.ndarray(shape=(outputs, 1), dtype=nl.float32, buffer=nl.private_hbm)
    weight8 = _empty_pairs(inputs, outputs)
    for top, bottom in parts(outputs, PARTITIONS):
        scale = _quantize(load(weight[top:bottom, 0:inputs]), weight8, top)
        nisa.dma_copy(dst=scales[top:bottom, 0:1], src=scale)
    table = nl.ndarray(shape=(PARTITIONS, outputs), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=table, src=scales.ap(pattern=[[0, PARTITIONS], [1, outputs]], offset=0))

    for first, count, _ in row_tiles(rows, BANK, nl.program_id(axis=0), nl.num_programs(axes=0)):
        last = first + count
        x8 = _empty_pairs(inputs, count)
        scale = _quantize(load(x[first:last, 0:inputs]), x8, 0)
        tile = nl.ndarray(shape=(count, outputs), dtype=x.dtype, buffer=nl.sbuf)
        for left, right in parts(outputs, BANK):
            summed = nl.ndarray(shape=(count, right - left), dtype=nl.float32, buffer=nl.psum)
            for k, (stationary, moving) in enumerate(zip(x8, weight8, strict=True)):
                depth = moving.shape[0]
                nisa.nc_matmul(
                    dst=summed,
                    stationary=stationary,
                    moving=moving[0:depth, 0:2, left:right],
                    accumulate=k > 0,
                    perf_mode=nisa.matmul_perf_mode.double_row,
                )
            nisa.scalar_tensor_tensor(
                dst=tile[0:count, left:right],
                data=summed,
                op0=nl.multiply,
                operand0=scale,
                op1=nl.multiply,
                operand1=table[0:count, left:right],
            )
        nisa.dma_copy(dst=y[first:last, 0:outputs], src=tile)
    return y


def _empty_pairs(inputs: int, columns: int) -> list[Any]:
    """Tiles [P, 2, columns] in e4m3 for operands of products over `inputs`, 256 at a time: the first half of those in
    one row of pairs, the second in the other. An odd one out is paired with zero.
    """
    found = []
    for first, end in parts(inputs, PAIRED):
        tile = nl.ndarray(shape=((end - first + 1) // 2, 2, columns), dtype=nl.float8_e4m3, buffer=nl.sbuf)
        if (end - first) % 2 == 1:
            nisa.memset(dst=tile, value=0.0)
        found.append(tile)
    return found


def _quantize(rows: Any, pairs: list[Any], column: int) -> Any:
    """Rows [count, K] in SBUF, scaled, turned around and in e4m3, into columns `column` and on of `pairs`; returns
    their scales [count, 1]. The largest magnitude is that of the largest and of the smallest value.
    """
    count, inputs = rows.shape
    high = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
    low = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
    largest = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
    scale = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
    inverse = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
    scaled = nl.ndarray(shape=(count, inputs), dtype=rows.dtype, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=high, op=nl.maximum, data=rows, axis=1, keepdims=True)
    nisa.tensor_reduce(dst=low, op=nl.minimum, data=rows, axis=1, negate=True, keepdims=True)
    nisa.tensor_tensor(dst=largest, data1=high, data2=low, op=nl.maximum)
    nisa.tensor_scalar(
        dst=scale, data=largest, op0=nl.maximum, operand0=SMALLEST, op1=nl.multiply, operand1=1.0 / LARGEST
    )
    nisa.reciprocal(dst=inverse, data=scale)
    nisa.activation(dst=scaled, op=nl.copy, data=rows, scale=inverse)
    for (first, end), pair in zip(parts(inputs, PAIRED), pairs, strict=True):
        depth = pair.shape[0]
        turned = nl.ndarray(shape=(depth, 2, count), dtype=rows.dtype, buffer=nl.psum)
        halves = [(0, first, first + depth), (1, first + depth, end)]
        for half, left, right in halves:
            if right > left:
                nisa.nc_transpose(dst=turned[0 : right - left, half, 0:count], data=scaled[0:count, left:right])
        whole = [(0, 2, depth)] if (end - first) % 2 == 0 else [(0, 1, depth), (1, 2, depth - 1)]
        for top, bottom, height in whole:
            if height > 0:
                nisa.tensor_scalar(
                    dst=pair[0:height, top:bottom, column : column + count],
                    data=turned[0:height, top:bottom, 0:count],
                    op0=nl.minimum,
                    operand0=LARGEST,
                    op1=nl.maximum,
                    operand1=-LARGEST,
                )
    return scale
