"""RMSNorm with a gain: y = x / sqrt(mean(x^2) + eps) * weight, over the last dimension.

x is [..., D] in any floating dtype, weight [D] in fp32; y has the dtype of x. Statistics and products are fp32.

What the kernels need: D <= 4096 (the gain's gradient takes D fp32 of PSUM, eight banks of 512); x contiguous. Any
number of rows, LNC 1 and 2. Forward and backward keep three [128, D] tiles in SBUF per step.
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
        return rms_norm_reference(x, self.weight, self.eps)


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
        """Gradients of x and weight; each core of the LNC returns its part of the latter."""
        rows, weight, rstd = ctx.saved_tensors
        dx, dweight = wrap_nki(rms_norm_backward)[ctx.lnc](
            dy=dy.reshape(rows.shape).contiguous(), x=rows, weight=weight, rstd=rstd
        )
        return dx.view(dy.shape), dweight.sum(0), None, None


@nki.jit
def rms_norm_forward(x: Any, weight: Any, eps: float) -> Any:
    """x [N, D], weight [D] fp32 -> y [N, D] like x, rstd [N, 1] fp32 = 1 / sqrt(mean(x^2) + eps)."""
    rows, width = x.shape
    pmax = nl.tile_size.pmax
    core, cores = nl.program_id(axis=0), nl.num_programs(axes=0)
    y = nl.ndarray(shape=(rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    rstd = nl.ndarray(shape=(rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)

    gain = nl.ndarray(shape=(pmax, width), dtype=weight.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=gain, src=weight.ap(pattern=[[0, pmax], [1, width]], offset=0))
    for _, first, count in row_tiles(1, rows, core, cores):
        xt = nl.ndarray(shape=(count, width), dtype=x.dtype, buffer=nl.sbuf)
        square = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
        scale = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
        yt = nl.ndarray(shape=(count, width), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=xt, src=x[first : first + count, 0:width])
        nisa.activation(
            dst=square,
            op=nl.square,
            data=xt,
            reduce_op=nl.add,
            reduce_res=total,
            reduce_cmd=nisa.reduce_cmd.reset_reduce,
        )
        nisa.activation(dst=scale, op=nl.rsqrt, data=total, scale=1.0 / width, bias=eps)
        nisa.scalar_tensor_tensor(
            dst=yt, data=xt, op0=nl.multiply, operand0=scale, op1=nl.multiply, operand1=gain[0:count, 0:width]
        )
        nisa.dma_copy(dst=y[first : first + count, 0:width], src=yt)
        nisa.dma_copy(dst=rstd[first : first + count, 0:1], src=scale)
    return y, rstd


@nki.jit
def rms_norm_backward(dy: Any, x: Any, weight: Any, rstd: Any) -> Any:
    """dy, x [N, D], weight [D] fp32, rstd [N, 1] fp32 -> dx [N, D] like x, dweight [cores, D] fp32, to be summed over
    cores.

    With g = dy * weight: dx = rstd * (g - x * rstd^2 * mean(g * x)); dweight = sum over rows of rstd * dy * x, which is
    a product of the column rstd (stationary) with the tile dy * x (moving), accumulated in PSUM over the row tiles.
    """
    rows, width = x.shape
    pmax, bank = nl.tile_size.pmax, nl.tile_size.psum_bank_fmax
    banks = (width + bank - 1) // bank
    assert banks <= 8, f"rms_norm_backward: D = {width}, but the gain's gradient must fit eight PSUM banks of {bank}"
    core, cores = nl.program_id(axis=0), nl.num_programs(axes=0)
    dx = nl.ndarray(shape=(rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    dweight = nl.ndarray(shape=(min(cores, rows), width), dtype=nl.float32, buffer=nl.shared_hbm)

    gain = nl.ndarray(shape=(pmax, width), dtype=weight.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=gain, src=weight.ap(pattern=[[0, pmax], [1, width]], offset=0))
    parts = [nl.ndarray(shape=(1, min(bank, width - b * bank)), dtype=nl.float32, buffer=nl.psum) for b in range(banks)]
    tiles = row_tiles(1, rows, core, cores)
    for index, (_, first, count) in enumerate(tiles):
        xt = nl.ndarray(shape=(count, width), dtype=x.dtype, buffer=nl.sbuf)
        dyt = nl.ndarray(shape=(count, width), dtype=dy.dtype, buffer=nl.sbuf)
        scale = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=xt, src=x[first : first + count, 0:width])
        nisa.dma_copy(dst=dyt, src=dy[first : first + count, 0:width])
        nisa.dma_copy(dst=scale, src=rstd[first : first + count, 0:1])

        product = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)  # dy * x
        nisa.tensor_tensor(dst=product, data1=dyt, data2=xt, op=nl.multiply)
        for b in range(banks):
            start, stop = b * bank, min(width, (b + 1) * bank)
            nisa.nc_matmul(dst=parts[b], stationary=scale, moving=product[0:count, start:stop], accumulate=index > 0)

        # -mean(g * x), summed by the scalar engine's accumulator with the factor in its scale
        weighted = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
        mean = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=weighted, data1=product, data2=gain[0:count, 0:width], op=nl.multiply)
        nisa.activation(
            dst=product,
            op=nl.copy,
            data=weighted,
            scale=-1.0 / width,
            reduce_op=nl.add,
            reduce_res=mean,
            reduce_cmd=nisa.reduce_cmd.reset_reduce,
        )
        slope = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)  # -rstd^2 * mean(g * x)
        nisa.tensor_scalar(dst=slope, data=mean, op0=nl.multiply, operand0=scale, op1=nl.multiply, operand1=scale)

        g = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=g, data1=dyt, data2=gain[0:count, 0:width], op=nl.multiply)
        inner = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.scalar_tensor_tensor(dst=inner, data=xt, op0=nl.multiply, operand0=slope, op1=nl.add, operand1=g)
        dxt = nl.ndarray(shape=(count, width), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=dxt, data=inner, op0=nl.multiply, operand0=scale)
        nisa.dma_copy(dst=dx[first : first + count, 0:width], src=dxt)
    if tiles:
        for b in range(banks):
            start, stop = b * bank, min(width, (b + 1) * bank)
            part = nl.ndarray(shape=(1, stop - start), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(dst=part, src=parts[b])
            nisa.dma_copy(dst=dweight[core : core + 1, start:stop], src=part)
    return dx, dweight
