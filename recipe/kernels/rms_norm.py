"""RMSNorm with a gain: y = x / sqrt(mean(x^2) + eps) * weight, over the last dimension.

x is [..., D] in any floating dtype, weight [D] in fp32; y has the dtype of x. Statistics and products are fp32.

What the kernels need: D <= 4096 (the gain's gradient takes D fp32 of PSUM, eight banks of 512); x contiguous. Any
number of rows, LNC 1 and 2. The backward kernel keeps nine tiles in SBUF at once.
"""

from __future__ import annotations

from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import torch
from torch import Tensor, nn
from torch_neuronx import wrap_nki

from recipe.kernels.tiling import row_tiles

MAX_WIDTH = 4096


class NkiRMSNorm(nn.Module):
    """RMSNorm by the NKI kernels below."""

    def __init__(self, width: int, eps: float, lnc: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps
        self.lnc = lnc

    def forward(self, x: Tensor) -> Tensor:
        """[..., D] -> [..., D], same dtype."""
        y: Tensor = RMSNormFunction.apply(x, self.weight, self.eps, self.lnc)  # type: ignore[no-untyped-call]
        return y


class TorchRMSNorm(nn.Module):
    """RMSNorm by torch operators."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """[..., D] -> [..., D], same dtype."""
        y: Tensor = RMSNormByTorch.apply(x, self.weight, self.eps)  # type: ignore[no-untyped-call]
        return y


class RMSNormByTorch(torch.autograd.Function):
    """The definition with its gradients written out: half as many passes over memory as autograd makes of it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        """Keep the rows' reciprocal norms for the backward pass."""
        wide = x.float()
        rstd = reciprocal_norms(wide, eps)
        ctx.save_for_backward(x, weight, rstd)
        return (wide * rstd).mul_(weight).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, None]:
        """The formula of the backward kernel, in fp32."""
        x, weight, rstd = ctx.saved_tensors
        normal = x.float() * rstd
        product = dy.float() * normal
        shares = (product @ weight).div_(weight.size(0)).unsqueeze(-1)
        dx = (dy.float() * weight).addcmul_(normal, shares, value=-1.0).mul_(rstd)
        return dx.to(x.dtype), product.flatten(0, -2).sum(0), None


def reciprocal_norms(x: Tensor, eps: float) -> Tensor:
    """1 / sqrt(mean(x^2) + eps) over the last dimension [..., D] -> [..., 1], in one pass."""
    norms: Tensor = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return norms.square_().div_(x.size(-1)).add_(eps).rsqrt_()


def rms_norm_reference(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """The definition, in fp32, rounded once to the dtype of x."""
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps) * weight).to(x.dtype)


class RMSNormFunction(torch.autograd.Function):
    """Autograd over the two kernels."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float, lnc: int) -> Tensor:
        """Run the forward kernel; keep the rows' reciprocal norms for the backward one."""
        rows = x.reshape(-1, x.size(-1)).contiguous()
        y, rstd = wrap_nki(rms_norm_forward)[lnc](x=rows, weight=weight, eps=eps)
        ctx.save_for_backward(rows, weight, rstd)
        ctx.lnc = lnc
        out: Tensor = y.view(x.shape)
        return out

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, None, None]:
        """Gradients of x and weight; the kernel returns the latter in parts, side by side."""
        rows, weight, rstd = ctx.saved_tensors
        dx, dweight = wrap_nki(rms_norm_backward)[ctx.lnc](
            dy=dy.reshape(rows.shape).contiguous(), x=rows, weight=weight, rstd=rstd
        )
        return dx.view(dy.shape), dweight.view(-1, weight.numel()).sum(0), None, None


@nki.jit
def rms_norm_forward(x: Any, weight: Any, eps: float) -> Any:
    """x [N, D], weight [D] fp32 -> y [N, D] like x, rstd [N, 1] fp32 = 1 / sqrt(mean(x^2) + eps)."""
    rows, width = x.shape
    assert width <= MAX_WIDTH, f"rms_norm_forward: D = {width}, must be at most {MAX_WIDTH}"
    pmax = nl.tile_size.pmax
    core, cores = nl.program_id(axis=0), nl.num_programs(axes=0)
    y = nl.ndarray(shape=(rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    rstd = nl.ndarray(shape=(rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)

    gain = nl.ndarray(shape=(pmax, 1, width), dtype=weight.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=gain, src=weight.ap(pattern=[[0, pmax], [1, width]], offset=0))
    for first, count, pack in row_tiles(rows, width, core, cores):
        last = first + count * pack
        xt = nl.ndarray(shape=(count, pack, width), dtype=x.dtype, buffer=nl.sbuf)
        square = nl.ndarray(shape=(count, pack, width), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray(shape=(count, pack, 1), dtype=nl.float32, buffer=nl.sbuf)
        scale = nl.ndarray(shape=(count, pack, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=xt, src=x[first:last, 0:width])
        nisa.tensor_tensor(dst=square, data1=xt, data2=xt, op=nl.multiply)
        nisa.tensor_reduce(dst=total, op=nl.add, data=square, axis=2, keepdims=True)
        nisa.activation(dst=scale, op=nl.rsqrt, data=total, scale=1.0 / width, bias=eps)

        scaled = nl.ndarray(shape=(count, pack, width), dtype=nl.float32, buffer=nl.sbuf)
        yt = nl.ndarray(shape=(count, pack, width), dtype=x.dtype, buffer=nl.sbuf)
        gains = gain[0:count, 0:1, 0:width].broadcast(dim=1, size=pack)
        nisa.tensor_tensor(dst=scaled, data1=xt, data2=scale.broadcast(dim=2, size=width), op=nl.multiply)
        nisa.tensor_tensor(dst=yt, data1=scaled, data2=gains, op=nl.multiply)
        nisa.dma_copy(dst=y[first:last, 0:width], src=yt)
        nisa.dma_copy(dst=rstd[first:last, 0:1], src=scale)
    return y, rstd


@nki.jit
def rms_norm_backward(dy: Any, x: Any, weight: Any, rstd: Any) -> Any:
    """dy, x [N, D], weight [D] fp32, rstd [N, 1] fp32 -> dx [N, D] like x, dweight [cores, pack * D] fp32.

    With g = dy * weight: dx = rstd * (g - x * rstd^2 * mean(g * x)). dweight = sum over rows of rstd * dy * x, which is
    a product with a column of ones, accumulated in PSUM over the tiles; each core gives as many parts as a partition
    has rows.
    """
    rows, width = x.shape
    assert width <= MAX_WIDTH, f"rms_norm_backward: D = {width}, must be at most {MAX_WIDTH}"
    pmax, bank = nl.tile_size.pmax, nl.tile_size.psum_bank_fmax
    core, cores = nl.program_id(axis=0), nl.num_programs(axes=0)
    tiles = row_tiles(rows, width, core, cores)
    columns = row_tiles(rows, width, 0, cores)[0][2] * width  # of the widest tile, which is the first
    dx = nl.ndarray(shape=(rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    dweight = nl.ndarray(shape=(min(cores, rows), columns), dtype=nl.float32, buffer=nl.shared_hbm)

    gain = nl.ndarray(shape=(pmax, 1, width), dtype=weight.dtype, buffer=nl.sbuf)
    ones = nl.ndarray(shape=(pmax, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=gain, src=weight.ap(pattern=[[0, pmax], [1, width]], offset=0))
    nisa.memset(dst=ones, value=1.0)
    sums = [
        nl.ndarray(shape=(1, min(bank, columns - b)), dtype=nl.float32, buffer=nl.psum) for b in range(0, columns, bank)
    ]
    for index, (first, count, pack) in enumerate(tiles):
        last = first + count * pack
        xt = nl.ndarray(shape=(count, pack, width), dtype=x.dtype, buffer=nl.sbuf)
        dyt = nl.ndarray(shape=(count, pack, width), dtype=dy.dtype, buffer=nl.sbuf)
        scale = nl.ndarray(shape=(count, pack, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=xt, src=x[first:last, 0:width])
        nisa.dma_copy(dst=dyt, src=dy[first:last, 0:width])
        nisa.dma_copy(dst=scale, src=rstd[first:last, 0:1])
        gains = gain[0:count, 0:1, 0:width].broadcast(dim=1, size=pack)
        scales = scale.broadcast(dim=2, size=width)

        product = nl.ndarray(shape=(count, pack, width), dtype=nl.float32, buffer=nl.sbuf)  # dy * x
        part = nl.ndarray(shape=(count, pack * width), dtype=nl.float32, buffer=nl.sbuf)  # rstd * dy * x
        nisa.tensor_tensor(dst=product, data1=dyt, data2=xt, op=nl.multiply)
        nisa.tensor_tensor(dst=part, data1=product, data2=scales, op=nl.multiply)
        for b in range(0, pack * width, bank):
            end = min(b + bank, pack * width)
            nisa.nc_matmul(
                dst=sums[b // bank][0:1, 0 : end - b],
                stationary=ones[0:count, 0:1],
                moving=part[0:count, b:end],
                accumulate=index > 0,
            )

        weighted = nl.ndarray(shape=(count, pack, width), dtype=nl.float32, buffer=nl.sbuf)  # g * x
        total = nl.ndarray(shape=(count, pack, 1), dtype=nl.float32, buffer=nl.sbuf)
        scaled = nl.ndarray(shape=(count, pack, 1), dtype=nl.float32, buffer=nl.sbuf)
        slope = nl.ndarray(shape=(count, pack, 1), dtype=nl.float32, buffer=nl.sbuf)  # -rstd^2 * mean(g * x)
        nisa.tensor_tensor(dst=weighted, data1=product, data2=gains, op=nl.multiply)
        nisa.tensor_reduce(dst=total, op=nl.add, data=weighted, axis=2, keepdims=True)
        nisa.tensor_tensor(dst=scaled, data1=total, data2=scale, op=nl.multiply)
        nisa.scalar_tensor_tensor(
            dst=slope, data=scaled, op0=nl.multiply, operand0=-1.0 / width, op1=nl.multiply, operand1=scale
        )

        g = nl.ndarray(shape=(count, pack, width), dtype=nl.float32, buffer=nl.sbuf)
        along = nl.ndarray(shape=(count, pack, width), dtype=nl.float32, buffer=nl.sbuf)
        inner = nl.ndarray(shape=(count, pack, width), dtype=nl.float32, buffer=nl.sbuf)
        dxt = nl.ndarray(shape=(count, pack, width), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=g, data1=dyt, data2=gains, op=nl.multiply)
        nisa.tensor_tensor(dst=along, data1=xt, data2=slope.broadcast(dim=2, size=width), op=nl.multiply)
        nisa.tensor_tensor(dst=inner, data1=g, data2=along, op=nl.add)
        nisa.tensor_tensor(dst=dxt, data1=inner, data2=scales, op=nl.multiply)
        nisa.dma_copy(dst=dx[first:last, 0:width], src=dxt)
    if tiles:
        for b in range(0, columns, bank):
            end = min(b + bank, columns)
            out = nl.ndarray(shape=(1, end - b), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(dst=out, src=sums[b // bank])
            nisa.dma_copy(dst=dweight[core : core + 1, b:end], src=out)
    return dx, dweight
