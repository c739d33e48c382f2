"""SwiGLU: y = silu(gate) * up, element by element, with silu(g) = g / (1 + exp(-g)) (Shazeer, 2020).

gate and up are [..., C] in any floating dtype; y has their dtype; arithmetic is fp32.

What the kernels need: gate and up of equal shape and contiguous. Any number of rows and columns, LNC 1 and 2. Rows go
through SBUF in chunks of 2048 columns, eleven tiles wide.
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

from recipe.kernels.tiling import row_tiles

CHUNK = 2048


class NkiSwiGLU(nn.Module):
    """SwiGLU by the NKI kernels below."""

    def __init__(self, lnc: int) -> None:
        super().__init__()
        self.lnc = lnc

    def forward(self, gate: Tensor, up: Tensor) -> Tensor:
        """gate, up [..., C] -> [..., C], same dtype."""
        y: Tensor = SwiGLUFunction.apply(gate, up, self.lnc)  # type: ignore[no-untyped-call]
        return y


class TorchSwiGLU(nn.Module):
    """SwiGLU by torch operators."""

    def forward(self, gate: Tensor, up: Tensor) -> Tensor:
        """gate, up [..., C] -> [..., C], same dtype."""
        return swiglu_reference(gate, up)


def swiglu_reference(gate: Tensor, up: Tensor) -> Tensor:
    """The definition, in fp32, rounded once to the dtype of gate."""
    return (F.silu(gate.float()) * up.float()).to(gate.dtype)


class SwiGLUFunction(torch.autograd.Function):
    """Autograd over the two kernels."""

    @staticmethod
    def forward(ctx: Any, gate: Tensor, up: Tensor, lnc: int) -> Tensor:
        """Run the forward kernel; keep its inputs for the backward one."""
        gates, ups = (x.reshape(-1, x.size(-1)).contiguous() for x in (gate, up))
        ctx.save_for_backward(gates, ups)
        ctx.lnc = lnc
        y: Tensor = wrap_nki(swiglu_forward)[lnc](gate=gates, up=ups)
        return y.view(gate.shape)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, None]:
        """Gradients of gate and up."""
        gates, ups = ctx.saved_tensors
        dgate, dup = wrap_nki(swiglu_backward)[ctx.lnc](dy=dy.reshape(gates.shape).contiguous(), gate=gates, up=ups)
        return dgate.view(dy.shape), dup.view(dy.shape), None


@nki.jit
def swiglu_forward(gate: Any, up: Any) -> Any:
    """gate, up [N, C] -> y [N, C] like gate: silu(gate) * up."""
    rows, columns = gate.shape
    y = nl.ndarray(shape=(rows, columns), dtype=gate.dtype, buffer=nl.shared_hbm)
    for first, count, pack in row_tiles(rows, columns, nl.program_id(axis=0), nl.num_programs(axes=0)):
        last = first + count * pack
        for start in range(0, columns, CHUNK):
            end = min(start + CHUNK, columns)
            shape = (count, pack, end - start)
            gate_tile = nl.ndarray(shape=shape, dtype=gate.dtype, buffer=nl.sbuf)
            up_tile = nl.ndarray(shape=shape, dtype=up.dtype, buffer=nl.sbuf)
            open_gate = nl.ndarray(shape=shape, dtype=nl.float32, buffer=nl.sbuf)
            out = nl.ndarray(shape=shape, dtype=gate.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=gate_tile, src=gate[first:last, start:end])
            nisa.dma_copy(dst=up_tile, src=up[first:last, start:end])
            nisa.activation(dst=open_gate, op=nl.silu, data=gate_tile)
            nisa.tensor_tensor(dst=out, data1=open_gate, data2=up_tile, op=nl.multiply)
            nisa.dma_copy(dst=y[first:last, start:end], src=out)
    return y


@nki.jit
def swiglu_backward(dy: Any, gate: Any, up: Any) -> Any:
    """dy, gate, up [N, C] -> dgate = dy * up * silu'(gate), dup = dy * silu(gate), like gate."""
    rows, columns = gate.shape
    dgate = nl.ndarray(shape=(rows, columns), dtype=gate.dtype, buffer=nl.shared_hbm)
    dup = nl.ndarray(shape=(rows, columns), dtype=gate.dtype, buffer=nl.shared_hbm)
    for first, count, pack in row_tiles(rows, columns, nl.program_id(axis=0), nl.num_programs(axes=0)):
        last = first + count * pack
        for start in range(0, columns, CHUNK):
            end = min(start + CHUNK, columns)
            shape = (count, pack, end - start)
            gate_tile = nl.ndarray(shape=shape, dtype=gate.dtype, buffer=nl.sbuf)
            up_tile = nl.ndarray(shape=shape, dtype=up.dtype, buffer=nl.sbuf)
            dy_tile = nl.ndarray(shape=shape, dtype=dy.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=gate_tile, src=gate[first:last, start:end])
            nisa.dma_copy(dst=up_tile, src=up[first:last, start:end])
            nisa.dma_copy(dst=dy_tile, src=dy[first:last, start:end])

            open_gate = nl.ndarray(shape=shape, dtype=nl.float32, buffer=nl.sbuf)
            slope = nl.ndarray(shape=shape, dtype=nl.float32, buffer=nl.sbuf)
            passed = nl.ndarray(shape=shape, dtype=nl.float32, buffer=nl.sbuf)  # dy * up
            nisa.activation(dst=open_gate, op=nl.silu, data=gate_tile)
            nisa.activation(dst=slope, op=nl.silu_dx, data=gate_tile)
            nisa.tensor_tensor(dst=passed, data1=dy_tile, data2=up_tile, op=nl.multiply)

            dup_tile = nl.ndarray(shape=shape, dtype=gate.dtype, buffer=nl.sbuf)
            dgate_tile = nl.ndarray(shape=shape, dtype=gate.dtype, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=dup_tile, data1=open_gate, data2=dy_tile, op=nl.multiply)
            nisa.tensor_tensor(dst=dgate_tile, data1=passed, data2=slope, op=nl.multiply)
            nisa.dma_copy(dst=dup[first:last, start:end], src=dup_tile)
            nisa.dma_copy(dst=dgate[first:last, start:end], src=dgate_tile)
    return dgate, dup
