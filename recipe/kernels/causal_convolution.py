"""Depthwise causal convolution over time: y[t] = sum over j of weight[j] * x[t - j], channel by channel.

x is [B, T, C] in any floating dtype, weight [k, C] in fp32, one row for each tap; what lies before the first position
counts as zero. y has the dtype of x; arithmetic is fp32.

What the kernels need: 2 <= k <= 4; C <= 1536 (the backward kernel holds up to 24 fp32 tiles of that width in SBUF);
x contiguous. Any B and T, LNC 1 and 2. A tile holds up to 128 positions on its partitions, rows of the batch
side by side; it is loaded once for each tap, moved by one position, since partitions cannot see each other.
"""

from __future__ import annotations

from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import torch
from torch import Tensor, nn
from torch_neuronx import wrap_nki

from recipe.kernels.tiling import position_tiles

MIN_TAPS, MAX_TAPS = 2, 4
MAX_CHANNELS = 1536


class NkiCausalConvolution(nn.Module):
    """Depthwise causal convolution by the NKI kernels below."""

    def __init__(self, channels: int, taps: int, lnc: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(first_tap(channels, taps))
        self.lnc = lnc

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, C] -> [B, T, C], same dtype."""
        y: Tensor = CausalConvolutionFunction.apply(x, self.weight, self.lnc)  # type: ignore[no-untyped-call]
        return y


class TorchCausalConvolution(nn.Module):
    """Depthwise causal convolution by torch operators."""

    def __init__(self, channels: int, taps: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(first_tap(channels, taps))

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, C] -> [B, T, C], same dtype."""
        return causal_convolution_reference(x, self.weight)


def first_tap(channels: int, taps: int) -> Tensor:
    """Taps [k, C] that change nothing: 1 for the position itself, 0 for those before it."""
    weight = torch.zeros(taps, channels)
    weight[0] = 1.0
    return weight


def causal_convolution_reference(x: Tensor, weight: Tensor) -> Tensor:
    """The definition, in fp32, rounded once to the dtype of x."""
    wide = x.float()
    y = wide * weight[0]
    for tap in range(1, weight.size(0)):
        before = wide[:, : max(0, x.size(1) - tap)]
        y = y + torch.cat([torch.zeros_like(wide[:, :tap]), before], dim=1) * weight[tap]
    return y.to(x.dtype)


class CausalConvolutionFunction(torch.autograd.Function):
    """Autograd over the two kernels."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, lnc: int) -> Tensor:
        """Run the forward kernel; keep its inputs for the backward one."""
        x = x.contiguous()
        ctx.save_for_backward(x, weight)
        ctx.lnc = lnc
        y: Tensor = wrap_nki(causal_convolution_forward)[lnc](x=x, weight=weight)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, None]:
        """Gradients of x and weight; each core returns its part of the latter."""
        x, weight = ctx.saved_tensors
        dx, dweight = wrap_nki(causal_convolution_backward)[ctx.lnc](dy=dy.contiguous(), x=x, weight=weight)
        return dx, dweight.sum(0), None


@nki.jit
def causal_convolution_forward(x: Any, weight: Any) -> Any:
    """x [B, T, C], weight [k, C] fp32 -> y [B, T, C] like x."""
    batch, positions, channels = x.shape
    taps = check_taps("causal_convolution_forward", weight)
    y = nl.ndarray(shape=(batch, positions, channels), dtype=x.dtype, buffer=nl.shared_hbm)
    gains = load_gains(weight)
    core, cores = nl.program_id(axis=0), nl.num_programs(axes=0)
    for row, rows, first, count in position_tiles(batch, positions, channels, core, cores):
        out = weighted([moved(x, row, rows, first, count, -tap) for tap in range(taps)], gains, x.dtype)
        nisa.dma_copy(dst=y[row : row + rows, first : first + count, 0:channels].permute(dims=(1, 0, 2)), src=out)
    return y


@nki.jit
def causal_convolution_backward(dy: Any, x: Any, weight: Any) -> Any:
    """dy, x [B, T, C], weight [k, C] fp32 -> dx [B, T, C] like x, dweight [cores, k, C] fp32.

    dx[t] = sum over j of weight[j] * dy[t + j]: the same towards the other side. dweight[j] = sum over positions of
    dy[t] * x[t - j], a product with ones in column j and zeros elsewhere, so that all taps accumulate in one tile of
    PSUM.
    """
    batch, positions, channels = x.shape
    taps = check_taps("causal_convolution_backward", weight)
    pmax, bank = nl.tile_size.pmax, nl.tile_size.psum_bank_fmax
    core, cores = nl.program_id(axis=0), nl.num_programs(axes=0)
    tiles = position_tiles(batch, positions, channels, core, cores)
    sharing = cores if batch % cores == 0 else min(cores, positions)
    dx = nl.ndarray(shape=(batch, positions, channels), dtype=x.dtype, buffer=nl.shared_hbm)
    dweight = nl.ndarray(shape=(sharing, taps, channels), dtype=nl.float32, buffer=nl.shared_hbm)

    gains = load_gains(weight)
    ones = nl.ndarray(shape=(pmax, taps, taps), dtype=nl.float32, buffer=nl.sbuf)  # column j of matrix j
    nisa.memset(dst=ones, value=0.0)
    for tap in range(taps):
        nisa.memset(dst=ones[0:pmax, tap : tap + 1, tap : tap + 1], value=1.0)
    sums = [
        nl.ndarray(shape=(taps, min(bank, channels - b)), dtype=nl.float32, buffer=nl.psum)
        for b in range(0, channels, bank)
    ]
    for index, (row, rows, first, count) in enumerate(tiles):
        ahead = [moved(dy, row, rows, first, count, tap) for tap in range(taps)]
        out = weighted(ahead, gains, x.dtype)
        nisa.dma_copy(dst=dx[row : row + rows, first : first + count, 0:channels].permute(dims=(1, 0, 2)), src=out)
        for tap in range(taps):
            both = nl.ndarray(shape=(count, rows, channels), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=both, data1=ahead[0], data2=moved(x, row, rows, first, count, -tap), op=nl.multiply)
            for side in range(rows):
                for b in range(0, channels, bank):
                    end = min(b + bank, channels)
                    nisa.nc_matmul(
                        dst=sums[b // bank],
                        stationary=ones[0:count, tap, 0:taps],
                        moving=both[0:count, side, b:end],
                        accumulate=index > 0 or tap > 0 or side > 0,
                    )
    if tiles:
        for b in range(0, channels, bank):
            end = min(b + bank, channels)
            out = nl.ndarray(shape=(taps, end - b), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(dst=out, src=sums[b // bank])
            nisa.dma_copy(dst=dweight[core, 0:taps, b:end], src=out)
    return dx, dweight


def check_taps(kernel: str, weight: Any) -> int:
    """The number of taps, if the kernels can do it."""
    taps, channels = weight.shape
    assert MIN_TAPS <= taps <= MAX_TAPS, f"{kernel}: k = {taps} taps, must be {MIN_TAPS} to {MAX_TAPS}"
    assert channels <= MAX_CHANNELS, f"{kernel}: C = {channels}, must be at most {MAX_CHANNELS}"
    return int(taps)


def load_gains(weight: Any) -> list[Any]:
    """One tile [128, 1, C] for each tap: its row of the weight in every partition."""
    taps, channels = weight.shape
    gains = []
    for tap in range(taps):
        gain = nl.ndarray(shape=(nl.tile_size.pmax, 1, channels), dtype=weight.dtype, buffer=nl.sbuf)
        pattern = [[0, nl.tile_size.pmax], [1, channels]]
        nisa.dma_copy(dst=gain, src=weight.ap(pattern=pattern, offset=tap * channels))
        gains.append(gain)
    return gains


def moved(x: Any, row: int, rows: int, first: int, count: int, shift: int) -> Any:
    """Positions `first + shift` and on of some rows of x, as a tile [count, rows, C]; zeros where there are none."""
    positions, channels = x.shape[1], x.shape[2]
    start = min(max(0, -first - shift), count)  # partitions from start to end hold positions that exist
    end = max(start, min(count, positions - first - shift))
    tile = nl.ndarray(shape=(count, rows, channels), dtype=x.dtype, buffer=nl.sbuf)
    if end - start < count:
        nisa.memset(dst=tile, value=0.0)
    if start < end:
        source = x[row : row + rows, first + shift + start : first + shift + end, 0:channels]
        nisa.dma_copy(dst=tile[start:end, 0:rows, 0:channels], src=source.permute(dims=(1, 0, 2)))
    return tile


def weighted(tiles: list[Any], gains: list[Any], dtype: Any) -> Any:
    """The sum of all tiles [count, rows, C], each times its gain, as `dtype`."""
    count, rows, channels = tiles[0].shape
    total = None
    for tap, (tile, gain) in enumerate(zip(tiles, gains, strict=True)):
        gained = nl.ndarray(shape=(count, rows, channels), dtype=nl.float32, buffer=nl.sbuf)
        spread = gain[0:count, 0:1, 0:channels].broadcast(dim=1, size=rows)
        nisa.tensor_tensor(dst=gained, data1=tile, data2=spread, op=nl.multiply)
        if total is None:
            total = gained
            continue
        kind = dtype if tap == len(tiles) - 1 else nl.float32
        added = nl.ndarray(shape=(count, rows, channels), dtype=kind, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=added, data1=total, data2=gained, op=nl.add)
        total = added
    return total
