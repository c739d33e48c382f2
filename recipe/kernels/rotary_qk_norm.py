"""Rotary position embedding and QK norm in one pass: every head of q and k is rotated by its position and scaled to RMS
1.

    y = (x * cos + swap(x) * sin) / sqrt(mean(x^2) + eps),   mean over the head's D elements

swap exchanges the halves of D. The tables hold the signs: cos = (c, c) and sin = (s, -s) for c, s of D / 2 angles
(`rotary_tables`). A rotation keeps the norm, so it does not matter that the statistics are taken before it.

q and k are [B, T, H, D] in any floating dtype, cos and sin [T, D] in fp32; results have the dtype of q. Arithmetic is
fp32.

What the kernels need: D even; 2 * H * D <= 4096 (nine fp32 tiles of that width in SBUF); q and k contiguous, of equal
shape. Any B and T, LNC 1 and 2. A tile holds up to 128 positions on its partitions; q and k, and as many rows of the
batch as fit, lie side by side.
"""

from __future__ import annotations

from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import torch
from torch import Tensor, nn
from torch_neuronx import wrap_nki

from recipe.kernels.rms_norm import reciprocal_norms
from recipe.kernels.tiling import position_tiles

MAX_COLUMNS = 4096


class NkiRotaryQKNorm(nn.Module):
    """Rotary embedding and QK norm by the NKI kernels below."""

    def __init__(self, eps: float, lnc: int) -> None:
        super().__init__()
        self.eps = eps
        self.lnc = lnc

    def forward(self, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        """q, k [B, T, H, D] and the tables [T, D] -> q, k [B, T, H, D]."""
        rotated: tuple[Tensor, Tensor] = RotaryQKNormFunction.apply(q, k, cos, sin, self.eps, self.lnc)  # type: ignore[no-untyped-call]
        return rotated


class TorchRotaryQKNorm(nn.Module):
    """Rotary embedding and QK norm by torch operators."""

    def __init__(self, eps: float) -> None:
        super().__init__()
        self.eps = eps

    def forward(self, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        """q, k [B, T, H, D] and the tables [T, D] -> q, k [B, T, H, D]."""
        turned: Tensor = RotaryNormByTorch.apply(q, cos, sin, self.eps)  # type: ignore[no-untyped-call]
        keys: Tensor = RotaryNormByTorch.apply(k, cos, sin, self.eps)  # type: ignore[no-untyped-call]
        return turned, keys


class RotaryNormByTorch(torch.autograd.Function):
    """The definition with its gradient written out: half as many passes over memory as autograd makes of it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor, eps: float) -> Tensor:
        """Keep the heads' reciprocal norms for the backward pass."""
        wide = x.float()
        rstd = reciprocal_norms(wide, eps)
        ctx.save_for_backward(x, cos, sin, rstd)
        return turn(wide, cos, sin).mul_(rstd).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, None, None, None]:
        """The formula of the backward kernel, in fp32: the turn's transpose is the turn by the opposite angle."""
        x, cos, sin, rstd = ctx.saved_tensors
        normal = x.float() * rstd
        dx = turn(dy.float(), cos, -sin)
        shares = (dx * normal).mean(-1, keepdim=True)
        return dx.addcmul_(normal, shares, value=-1.0).mul_(rstd).to(x.dtype), None, None, None


def turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x [B, T, H, D] in fp32 turned by the tables [T, D]."""
    half = x.size(-1) // 2
    out = x * cos[:, None, :]
    out[..., :half].addcmul_(x[..., half:], sin[:, None, :half])
    out[..., half:].addcmul_(x[..., :half], sin[:, None, half:])
    return out


def rotary_tables(positions: int, head_dim: int, base: float, device: torch.device) -> tuple[Tensor, Tensor]:
    """Tables cos, sin [T, D] in fp32: pair i of position t turns by t * base^(-2 i / D) (Su et al., 2021)."""
    frequencies = base ** (-torch.arange(0, head_dim, 2, dtype=torch.float32, device=device) / head_dim)
    angles = torch.outer(torch.arange(positions, dtype=torch.float32, device=device), frequencies)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([cos, cos], dim=-1), torch.cat([sin, -sin], dim=-1)


def rotary_norm_reference(x: Tensor, cos: Tensor, sin: Tensor, eps: float) -> Tensor:
    """The definition for x [B, T, H, D], in fp32, rounded once to the dtype of x."""
    wide = x.float()
    first, second = wide.chunk(2, dim=-1)
    turned = wide * cos[:, None, :] + torch.cat([second, first], dim=-1) * sin[:, None, :]
    return (turned * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)).to(x.dtype)


class RotaryQKNormFunction(torch.autograd.Function):
    """Autograd over the two kernels; the tables get no gradient."""

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, eps: float, lnc: int
    ) -> tuple[Tensor, Tensor]:
        """Run the forward kernel; keep the heads' reciprocal norms for the backward one."""
        q, k = q.contiguous(), k.contiguous()
        q_out, k_out, rstd = wrap_nki(rotary_qk_norm_forward)[lnc](q=q, k=k, cos=cos, sin=sin, eps=eps)
        ctx.save_for_backward(q, k, cos, sin, rstd)
        ctx.lnc = lnc
        return q_out, k_out

    @staticmethod
    def backward(ctx: Any, dq_out: Tensor, dk_out: Tensor) -> tuple[Tensor, Tensor, None, None, None, None]:
        """Gradients of q and k."""
        q, k, cos, sin, rstd = ctx.saved_tensors
        dq, dk = wrap_nki(rotary_qk_norm_backward)[ctx.lnc](
            dq_out=dq_out.contiguous(), dk_out=dk_out.contiguous(), q=q, k=k, cos=cos, sin=sin, rstd=rstd
        )
        return dq, dk, None, None, None, None


@nki.jit
def rotary_qk_norm_forward(q: Any, k: Any, cos: Any, sin: Any, eps: float) -> Any:
    """q, k [B, T, H, D], cos, sin [T, D] -> q, k rotated and normalised, rstd [B, T, 2 H, 1] (q's heads, then k's)."""
    batch, positions, heads, width = q.shape
    half, both = width // 2, 2 * heads
    assert width % 2 == 0, f"rotary_qk_norm_forward: D = {width} is odd, but heads are rotated by halves"
    assert both * width <= MAX_COLUMNS, f"rotary_qk_norm_forward: 2 * H * D = {both * width}, must be <= {MAX_COLUMNS}"
    core, cores = nl.program_id(axis=0), nl.num_programs(axes=0)
    q_out = nl.ndarray(shape=(batch, positions, heads, width), dtype=q.dtype, buffer=nl.shared_hbm)
    k_out = nl.ndarray(shape=(batch, positions, heads, width), dtype=q.dtype, buffer=nl.shared_hbm)
    rstd = nl.ndarray(shape=(batch, positions, both, 1), dtype=nl.float32, buffer=nl.shared_hbm)

    loaded = -1  # first position of the tables in SBUF
    for row, rows, first, count in position_tiles(batch, positions, both * width, core, cores):
        last_row, last = row + rows, first + count
        if loaded != first:
            cos_tile = nl.ndarray(shape=(count, 1, 1, width), dtype=nl.float32, buffer=nl.sbuf)
            sin_tile = nl.ndarray(shape=(count, 1, 1, width), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=cos_tile, src=cos[first:last, 0:width])
            nisa.dma_copy(dst=sin_tile, src=sin[first:last, 0:width])
            loaded = first
        x = nl.ndarray(shape=(count, rows, both, width), dtype=q.dtype, buffer=nl.sbuf)
        for source, start in ((q, 0), (k, heads)):
            nisa.dma_copy(
                dst=x[0:count, 0:rows, start : start + heads, 0:width],
                src=source[row:last_row, first:last, 0:heads, 0:width].permute(dims=(1, 0, 2, 3)),
            )

        square = nl.ndarray(shape=(count, rows, both, width), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray(shape=(count, rows, both, 1), dtype=nl.float32, buffer=nl.sbuf)
        scale = nl.ndarray(shape=(count, rows, both, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=square, data1=x, data2=x, op=nl.multiply)
        nisa.tensor_reduce(dst=total, op=nl.add, data=square, axis=3, keepdims=True)
        nisa.activation(dst=scale, op=nl.rsqrt, data=total, scale=1.0 / width, bias=eps)

        straight = nl.ndarray(shape=(count, rows, both, width), dtype=nl.float32, buffer=nl.sbuf)
        crossed = nl.ndarray(shape=(count, rows, both, width), dtype=nl.float32, buffer=nl.sbuf)
        turned = nl.ndarray(shape=(count, rows, both, width), dtype=nl.float32, buffer=nl.sbuf)
        y = nl.ndarray(shape=(count, rows, both, width), dtype=q.dtype, buffer=nl.sbuf)
        cosines = cos_tile.broadcast(dim=1, size=rows).broadcast(dim=2, size=both)
        sines = sin_tile.broadcast(dim=1, size=rows).broadcast(dim=2, size=both)
        nisa.tensor_tensor(dst=straight, data1=x, data2=cosines, op=nl.multiply)
        for start, other in ((0, half), (half, 0)):
            nisa.tensor_tensor(
                dst=crossed[0:count, 0:rows, 0:both, start : start + half],
                data1=x[0:count, 0:rows, 0:both, other : other + half],
                data2=sines[0:count, 0:rows, 0:both, start : start + half],
                op=nl.multiply,
            )
        nisa.tensor_tensor(dst=turned, data1=straight, data2=crossed, op=nl.add)
        nisa.tensor_tensor(dst=y, data1=turned, data2=scale.broadcast(dim=3, size=width), op=nl.multiply)

        for target, start in ((q_out, 0), (k_out, heads)):
            nisa.dma_copy(
                dst=target[row:last_row, first:last, 0:heads, 0:width].permute(dims=(1, 0, 2, 3)),
                src=y[0:count, 0:rows, start : start + heads, 0:width],
            )
        nisa.dma_copy(dst=rstd[row:last_row, first:last, 0:both, 0:1].permute(dims=(1, 0, 2, 3)), src=scale)
    return q_out, k_out, rstd


@nki.jit
def rotary_qk_norm_backward(dq_out: Any, dk_out: Any, q: Any, k: Any, cos: Any, sin: Any, rstd: Any) -> Any:
    """Gradients of the results [B, T, H, D], and what forward took and returned -> gradients of q and k, like q.

    The rotation's transpose turns back: g = dy * cos - swap(dy) * sin. Then, as for RMSNorm without gain,
    dx = rstd * (g - x * rstd^2 * mean(g * x)).
    """
    batch, positions, heads, width = q.shape
    half, both = width // 2, 2 * heads
    assert width % 2 == 0, f"rotary_qk_norm_backward: D = {width} is odd, but heads are rotated by halves"
    assert both * width <= MAX_COLUMNS, f"rotary_qk_norm_backward: 2 * H * D = {both * width}, must be <= {MAX_COLUMNS}"
    core, cores = nl.program_id(axis=0), nl.num_programs(axes=0)
    dq = nl.ndarray(shape=(batch, positions, heads, width), dtype=q.dtype, buffer=nl.shared_hbm)
    dk = nl.ndarray(shape=(batch, positions, heads, width), dtype=q.dtype, buffer=nl.shared_hbm)

    loaded = -1  # first position of the tables in SBUF
    for row, rows, first, count in position_tiles(batch, positions, both * width, core, cores):
        last_row, last = row + rows, first + count
        if loaded != first:
            cos_tile = nl.ndarray(shape=(count, 1, 1, width), dtype=nl.float32, buffer=nl.sbuf)
            sin_tile = nl.ndarray(shape=(count, 1, 1, width), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=cos_tile, src=cos[first:last, 0:width])
            nisa.dma_copy(dst=sin_tile, src=sin[first:last, 0:width])
            loaded = first
        x = nl.ndarray(shape=(count, rows, both, width), dtype=q.dtype, buffer=nl.sbuf)
        dy = nl.ndarray(shape=(count, rows, both, width), dtype=q.dtype, buffer=nl.sbuf)
        scale = nl.ndarray(shape=(count, rows, both, 1), dtype=nl.float32, buffer=nl.sbuf)
        for tile, source, start in ((x, q, 0), (x, k, heads), (dy, dq_out, 0), (dy, dk_out, heads)):
            nisa.dma_copy(
                dst=tile[0:count, 0:rows, start : start + heads, 0:width],
                src=source[row:last_row, first:last, 0:heads, 0:width].permute(dims=(1, 0, 2, 3)),
            )
        nisa.dma_copy(dst=scale, src=rstd[row:last_row, first:last, 0:both, 0:1].permute(dims=(1, 0, 2, 3)))

        straight = nl.ndarray(shape=(count, rows, both, width), dtype=nl.float32, buffer=nl.sbuf)
        crossed = nl.ndarray(shape=(count, rows, both, width), dtype=nl.float32, buffer=nl.sbuf)
        g = nl.ndarray(shape=(count, rows, both, width), dtype=nl.float32, buffer=nl.sbuf)
        cosines = cos_tile.broadcast(dim=1, size=rows).broadcast(dim=2, size=both)
        sines = sin_tile.broadcast(dim=1, size=rows).broadcast(dim=2, size=both)
        nisa.tensor_tensor(dst=straight, data1=dy, data2=cosines, op=nl.multiply)
        for start, other in ((0, half), (half, 0)):
            nisa.tensor_tensor(
                dst=crossed[0:count, 0:rows, 0:both, start : start + half],
                data1=dy[0:count, 0:rows, 0:both, other : other + half],
                data2=sines[0:count, 0:rows, 0:both, start : start + half],
                op=nl.multiply,
            )
        nisa.tensor_tensor(dst=g, data1=straight, data2=crossed, op=nl.subtract)

        product = nl.ndarray(shape=(count, rows, both, width), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray(shape=(count, rows, both, 1), dtype=nl.float32, buffer=nl.sbuf)
        scaled = nl.ndarray(shape=(count, rows, both, 1), dtype=nl.float32, buffer=nl.sbuf)
        slope = nl.ndarray(shape=(count, rows, both, 1), dtype=nl.float32, buffer=nl.sbuf)  # -rstd^2 * mean(g * x)
        nisa.tensor_tensor(dst=product, data1=g, data2=x, op=nl.multiply)
        nisa.tensor_reduce(dst=total, op=nl.add, data=product, axis=3, keepdims=True)
        nisa.tensor_tensor(dst=scaled, data1=total, data2=scale, op=nl.multiply)
        nisa.scalar_tensor_tensor(
            dst=slope, data=scaled, op0=nl.multiply, operand0=-1.0 / width, op1=nl.multiply, operand1=scale
        )
        along = nl.ndarray(shape=(count, rows, both, width), dtype=nl.float32, buffer=nl.sbuf)
        inner = nl.ndarray(shape=(count, rows, both, width), dtype=nl.float32, buffer=nl.sbuf)
        dx = nl.ndarray(shape=(count, rows, both, width), dtype=q.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=along, data1=x, data2=slope.broadcast(dim=3, size=width), op=nl.multiply)
        nisa.tensor_tensor(dst=inner, data1=g, data2=along, op=nl.add)
        nisa.tensor_tensor(dst=dx, data1=inner, data2=scale.broadcast(dim=3, size=width), op=nl.multiply)

        for target, start in ((dq, 0), (dk, heads)):
            nisa.dma_copy(
                dst=target[row:last_row, first:last, 0:heads, 0:width].permute(dims=(1, 0, 2, 3)),
                src=dx[0:count, 0:rows, start : start + heads, 0:width],
            )
    return dq, dk
