"""The whole MLP in one: y = h down^T with h = relu(x up^T)^2, or, with a gate, h = silu(x gate^T) * (x up^T).

x is [..., D] in any floating dtype; the weights are fp32 as torch.nn.Linear has them, up and gate [M, D], down [D, M],
and are cast to the dtype of x; y has that dtype. Sums and activations are fp32; h is rounded to the dtype of x. In the
forward pass h stays in SBUF. The backward kernel makes it again and leaves it and the gradients in front of the
activation in HBM, for the three products that the gradients of x and the weights are (`linear_backward`).

What the kernels need: D <= 1280 and M <= 16384 (of up and down a chunk of 512 columns stays in SBUF, of h all columns
of 128 rows or more); x contiguous. Any number of rows, LNC 1 and 2 (cores share the rows). Rows are taken up to 512 at
a time, since the weights are read once for each such group.
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

from recipe.kernels.linear_backward import nki_input_gradient, nki_weight_gradient
from recipe.kernels.products import (
    BANK,
    GROUP_BYTES,
    GROUP_TILES,
    PARTITIONS,
    bytes_of,
    load_parts,
    parts,
    product,
    row_groups,
    turned_bytes,
    turned_rows,
    write_output,
)

MAX_WIDTH, MAX_HIDDEN = 1280, 16384


class NkiFusedMLP(nn.Module):
    """The MLP with ReLU squared by the NKI kernels below."""

    def __init__(self, lnc: int) -> None:
        super().__init__()
        self.lnc = lnc

    def forward(self, x: Tensor, up: Tensor, down: Tensor) -> Tensor:
        """x [..., D], up [M, D], down [D, M] -> [..., D], same dtype as x."""
        y: Tensor = FusedMLPFunction.apply(x, up, down, self.lnc)  # type: ignore[no-untyped-call]
        return y


class NkiFusedGatedMLP(nn.Module):
    """The MLP with SwiGLU by the NKI kernels below."""

    def __init__(self, lnc: int) -> None:
        super().__init__()
        self.lnc = lnc

    def forward(self, x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
        """x [..., D], gate, up [M, D], down [D, M] -> [..., D], same dtype as x."""
        y: Tensor = FusedGatedMLPFunction.apply(x, torch.cat([gate, up]), down, self.lnc)  # type: ignore[no-untyped-call]
        return y


def fused_mlp_reference(x: Tensor, up: Tensor, down: Tensor) -> Tensor:
    """The definition, in fp32 but for the weights and h, rounded once more to the dtype of x."""
    before = x.float() @ up.to(x.dtype).float().mT
    return (before.relu().square().to(x.dtype).float() @ down.to(x.dtype).float().mT).to(x.dtype)


def fused_gated_mlp_reference(x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    """The definition, in fp32 but for the weights and h, rounded once more to the dtype of x."""
    opened, passed = (x.float() @ weight.to(x.dtype).float().mT for weight in (gate, up))
    return ((F.silu(opened) * passed).to(x.dtype).float() @ down.to(x.dtype).float().mT).to(x.dtype)


class FusedMLPFunction(torch.autograd.Function):
    """Autograd over the two kernels with ReLU squared."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, up: Tensor, down: Tensor, lnc: int) -> Tensor:
        """Run the forward kernel; keep its inputs for the backward one."""
        rows = x.reshape(-1, x.size(-1)).contiguous()
        turned = up.to(x.dtype).mT.contiguous()
        y: Tensor = wrap_nki(fused_mlp_forward)[lnc](x=rows, up=turned, down=down.to(x.dtype).mT.contiguous())
        ctx.save_for_backward(rows, up, turned, down)
        ctx.lnc = lnc
        return y.view(x.shape)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """Gradients of x, up and down."""
        rows, up, turned, down = ctx.saved_tensors
        slopes = dy.reshape(rows.shape).contiguous()
        hidden, errors = wrap_nki(fused_mlp_backward)[ctx.lnc](
            dy=slopes, x=rows, up=turned, down=down.to(rows.dtype).contiguous()
        )
        return *mlp_gradients(dy, rows, up, slopes, hidden, errors, ctx.lnc), None


class FusedGatedMLPFunction(torch.autograd.Function):
    """Autograd over the two kernels with SwiGLU; gate and up come as one weight [2 M, D]."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, both: Tensor, down: Tensor, lnc: int) -> Tensor:
        """Run the forward kernel; keep its inputs for the backward one."""
        rows = x.reshape(-1, x.size(-1)).contiguous()
        turned = both.to(x.dtype).mT.contiguous()
        y: Tensor = wrap_nki(fused_gated_mlp_forward)[lnc](x=rows, both=turned, down=down.to(x.dtype).mT.contiguous())
        ctx.save_for_backward(rows, both, turned, down)
        ctx.lnc = lnc
        return y.view(x.shape)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """Gradients of x, gate and up as one, and down."""
        rows, both, turned, down = ctx.saved_tensors
        slopes = dy.reshape(rows.shape).contiguous()
        hidden, errors = wrap_nki(fused_gated_mlp_backward)[ctx.lnc](
            dy=slopes, x=rows, both=turned, down=down.to(rows.dtype).contiguous()
        )
        return *mlp_gradients(dy, rows, both, slopes, hidden, errors, ctx.lnc), None


def mlp_gradients(
    dy: Tensor, rows: Tensor, first: Tensor, slopes: Tensor, hidden: Tensor, errors: Tensor, lnc: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of x, of the first product's weight, and of down, from what the backward kernel left."""
    dx = nki_input_gradient(errors, first, lnc).view(dy.shape)
    dfirst = nki_weight_gradient(errors, rows, first.dtype, lnc)
    return dx, dfirst, nki_weight_gradient(slopes, hidden, first.dtype, lnc)


@nki.jit
def fused_mlp_forward(x: Any, up: Any, down: Any) -> Any:
    """x [N, D], the weights turned around, up [D, M], down [M, D] -> y [N, D] like x."""
    check_sizes("fused_mlp_forward", x.shape[1], down.shape[0])
    y = nl.ndarray(shape=x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for group in forward_groups(x, down):
        inputs = turned_rows(x, group)
        hidden = []
        for start, end in parts(down.shape[0], BANK):
            hidden += squared_blocks(inputs, load_parts(up, start, end), x.dtype)
        write_output(hidden, down, group, y)
    return y


@nki.jit
def fused_gated_mlp_forward(x: Any, both: Any, down: Any) -> Any:
    """x [N, D], the weights turned around, gate and up side by side [D, 2 M], down [M, D] -> y [N, D] like x."""
    check_sizes("fused_gated_mlp_forward", x.shape[1], down.shape[0])
    half = down.shape[0]
    y = nl.ndarray(shape=x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for group in forward_groups(x, down):
        inputs = turned_rows(x, group)
        hidden = []
        for start, end in parts(half, BANK):
            gate, up = load_parts(both, start, end), load_parts(both, half + start, half + end)
            hidden += gated_blocks(inputs, gate, up, x.dtype)
        write_output(hidden, down, group, y)
    return y


def squared_blocks(inputs: list[Any], up: list[Any], dtype: Any) -> list[Any]:
    """relu(up^T x)^2 for a chunk of up, 128 hidden columns to a tile: [up to 128, rows] each."""
    rows, found = inputs[0].shape[1], []
    for left, right in parts(up[0].shape[1], PARTITIONS):
        positive = nl.ndarray(shape=(right - left, rows), dtype=nl.float32, buffer=nl.sbuf)
        hidden = nl.ndarray(shape=(right - left, rows), dtype=dtype, buffer=nl.sbuf)
        nisa.activation(dst=positive, op=nl.relu, data=product(up, inputs, (left, right), (0, rows)))
        nisa.tensor_tensor(dst=hidden, data1=positive, data2=positive, op=nl.multiply)
        found.append(hidden)
    return found


def gated_blocks(inputs: list[Any], gate: list[Any], up: list[Any], dtype: Any) -> list[Any]:
    """silu(gate^T x) * (up^T x) for a chunk of both, 128 hidden columns to a tile: [up to 128, rows] each."""
    rows, found = inputs[0].shape[1], []
    for left, right in parts(up[0].shape[1], PARTITIONS):
        opened = nl.ndarray(shape=(right - left, rows), dtype=nl.float32, buffer=nl.sbuf)
        hidden = nl.ndarray(shape=(right - left, rows), dtype=dtype, buffer=nl.sbuf)
        nisa.activation(dst=opened, op=nl.silu, data=product(gate, inputs, (left, right), (0, rows)))
        nisa.tensor_tensor(
            dst=hidden, data1=opened, data2=product(up, inputs, (left, right), (0, rows)), op=nl.multiply
        )
        found.append(hidden)
    return found


@nki.jit
def fused_mlp_backward(dy: Any, x: Any, up: Any, down: Any) -> Any:
    """dy, x [N, D], up turned around [D, M], down as it is [D, M] -> hidden, errors [N, M] like x.

    With a = x up^T: hidden = relu(a)^2, errors = 2 * relu(a) * (dy down).
    """
    check_sizes("fused_mlp_backward", x.shape[1], up.shape[1])
    rows, hidden_width = x.shape[0], up.shape[1]
    hidden = nl.ndarray(shape=(rows, hidden_width), dtype=x.dtype, buffer=nl.shared_hbm)
    errors = nl.ndarray(shape=(rows, hidden_width), dtype=x.dtype, buffer=nl.shared_hbm)
    for group in row_groups(rows, 2 * turned_bytes(x), GROUP_BYTES // 2):
        inputs, slopes = turned_rows(x, group), turned_rows(dy, group)
        for start, end in parts(hidden_width, BANK):
            weights, back = load_parts(up, start, end), load_parts(down, start, end)
            for first, last in group:
                place, columns = (first - group[0][0], last - group[0][0]), (0, end - start)
                shape = (last - first, end - start)
                positive = nl.ndarray(shape=shape, dtype=nl.float32, buffer=nl.sbuf)
                hidden_tile = nl.ndarray(shape=shape, dtype=x.dtype, buffer=nl.sbuf)
                error = nl.ndarray(shape=shape, dtype=x.dtype, buffer=nl.sbuf)
                nisa.activation(dst=positive, op=nl.relu, data=product(inputs, weights, place, columns))
                nisa.tensor_tensor(dst=hidden_tile, data1=positive, data2=positive, op=nl.multiply)
                nisa.scalar_tensor_tensor(
                    dst=error,
                    data=positive,
                    op0=nl.multiply,
                    operand0=2.0,
                    op1=nl.multiply,
                    operand1=product(slopes, back, place, columns),
                )
                nisa.dma_copy(dst=hidden[first:last, start:end], src=hidden_tile)
                nisa.dma_copy(dst=errors[first:last, start:end], src=error)
    return hidden, errors


@nki.jit
def fused_gated_mlp_backward(dy: Any, x: Any, both: Any, down: Any) -> Any:
    """dy, x [N, D], gate and up turned around, side by side [D, 2 M], down as it is [D, M] -> hidden [N, M], errors
    [N, 2 M] like x: of the gate, then of what it lets through.

    With a = x gate^T, b = x up^T, e = dy down: hidden = silu(a) * b, errors = (e * b * silu'(a), e * silu(a)).
    """
    check_sizes("fused_gated_mlp_backward", x.shape[1], down.shape[1])
    rows, half = x.shape[0], down.shape[1]
    hidden = nl.ndarray(shape=(rows, half), dtype=x.dtype, buffer=nl.shared_hbm)
    errors = nl.ndarray(shape=(rows, 2 * half), dtype=x.dtype, buffer=nl.shared_hbm)
    for group in row_groups(rows, 2 * turned_bytes(x), GROUP_BYTES // 2):
        inputs, slopes = turned_rows(x, group), turned_rows(dy, group)
        for start, end in parts(half, BANK):
            gate, up = load_parts(both, start, end), load_parts(both, half + start, half + end)
            back = load_parts(down, start, end)
            for first, last in group:
                place, columns = (first - group[0][0], last - group[0][0]), (0, end - start)
                shape = (last - first, end - start)
                opened = nl.ndarray(shape=shape, dtype=nl.float32, buffer=nl.sbuf)
                steepness = nl.ndarray(shape=shape, dtype=nl.float32, buffer=nl.sbuf)
                passed = nl.ndarray(shape=shape, dtype=nl.float32, buffer=nl.sbuf)
                error = nl.ndarray(shape=shape, dtype=nl.float32, buffer=nl.sbuf)
                before = product(inputs, gate, place, columns)
                nisa.activation(dst=opened, op=nl.silu, data=before)
                nisa.activation(dst=steepness, op=nl.silu_dx, data=before)
                nisa.tensor_copy(dst=passed, src=product(inputs, up, place, columns))
                nisa.tensor_copy(dst=error, src=product(slopes, back, place, columns))

                hidden_tile = nl.ndarray(shape=shape, dtype=x.dtype, buffer=nl.sbuf)
                gate_error = nl.ndarray(shape=shape, dtype=x.dtype, buffer=nl.sbuf)
                up_error = nl.ndarray(shape=shape, dtype=x.dtype, buffer=nl.sbuf)
                sloped = nl.ndarray(shape=shape, dtype=nl.float32, buffer=nl.sbuf)  # passed * silu'
                nisa.tensor_tensor(dst=hidden_tile, data1=opened, data2=passed, op=nl.multiply)
                nisa.tensor_tensor(dst=up_error, data1=opened, data2=error, op=nl.multiply)
                nisa.tensor_tensor(dst=sloped, data1=steepness, data2=passed, op=nl.multiply)
                nisa.tensor_tensor(dst=gate_error, data1=sloped, data2=error, op=nl.multiply)
                nisa.dma_copy(dst=hidden[first:last, start:end], src=hidden_tile)
                nisa.dma_copy(dst=errors[first:last, start:end], src=gate_error)
                nisa.dma_copy(dst=errors[first:last, half + start : half + end], src=up_error)
    return hidden, errors


def check_sizes(kernel: str, width: int, hidden: int) -> None:
    """Refuse what the kernels cannot do."""
    assert width <= MAX_WIDTH, f"{kernel}: D = {width}, must be at most {MAX_WIDTH}"
    assert hidden <= MAX_HIDDEN, f"{kernel}: M = {hidden}, must be at most {MAX_HIDDEN}"


def forward_groups(x: Any, down: Any) -> list[list[tuple[int, int]]]:
    """Groups of tiles of rows whose hidden columns, and they themselves turned around, stay in SBUF together."""
    kept = turned_bytes(x) + len(parts(down.shape[0], PARTITIONS)) * PARTITIONS * bytes_of(x.dtype)
    return row_groups(x.shape[0], kept, min(GROUP_BYTES, GROUP_TILES * kept))
