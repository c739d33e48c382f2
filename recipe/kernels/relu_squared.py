"""ReLU squared: y = max(x, 0)^2, element by element.

x is [..., C] in any floating dtype; y has the dtype of x; products are fp32.

What the kernels need: C <= 8192 (four [128, C] tiles in SBUF); x contiguous. Any number of rows, LNC 1 and 2.
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

MAX_COLUMNS = 8192


class NkiReLUSquared(nn.Module):
    """ReLU squared by the NKI kernels below."""

    def __init__(self, lnc: int) -> None:
        super().__init__()
        self.lnc = lnc

    def forward(self, x: Tensor) -> Tensor:
        """[..., C] -> [..., C], same dtype."""
        y: Tensor = ReLUSquaredFunction.apply(x, self.lnc)  # type: ignore[no-untyped-call]
        return y


class TorchReLUSquared(nn.Module):
    """ReLU squared by torch operators."""

    def forward(self, x: Tensor) -> Tensor:
        """[..., C] -> [..., C], same dtype."""
        y: Tensor = ReLUSquaredByTorch.apply(x)  # type: ignore[no-untyped-call]
        return y


class ReLUSquaredByTorch(torch.autograd.Function):
    """The definition with its gradient written out: half as many passes over memory as autograd makes of it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Keep what is above zero for the backward pass."""
        positive: Tensor = x.relu()
        ctx.save_for_backward(positive)
        return positive.square()

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Tensor:
        """2 max(x, 0) dy; doubling is exact, so only one product rounds."""
        (positive,) = ctx.saved_tensors
        dx: Tensor = (dy * positive).mul_(2.0)
        return dx


def relu_squared_reference(x: Tensor) -> Tensor:
    """The definition; one rounding, since relu is exact."""
    return x.relu().square()


class ReLUSquaredFunction(torch.autograd.Function):
    """Autograd over the two kernels."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, lnc: int) -> Tensor:
        """Run the forward kernel; keep x for the backward one."""
        rows = x.reshape(-1, x.size(-1)).contiguous()
        ctx.save_for_backward(rows)
        ctx.lnc = lnc
        y: Tensor = wrap_nki(relu_squared_forward)[lnc](x=rows)
        return y.view(x.shape)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, None]:
        """Gradient of x."""
        (rows,) = ctx.saved_tensors
        dx = wrap_nki(relu_squared_backward)[ctx.lnc](dy=dy.reshape(rows.shape).contiguous(), x=rows)
        return dx.view(dy.shape), None


@nki.jit
def relu_squared_forward(x: Any) -> Any:
    """x [N, C] -> y [N, C] like x: max(x, 0) * x."""
    rows, columns = x.shape
    assert columns <= MAX_COLUMNS, f"relu_squared_forward: C = {columns}, must be at most {MAX_COLUMNS}"
    y = nl.ndarray(shape=(rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for first, count, pack in row_tiles(rows, columns, nl.program_id(axis=0), nl.num_programs(axes=0)):
        last = first + count * pack
        xt = nl.ndarray(shape=(count, pack * columns), dtype=x.dtype, buffer=nl.sbuf)
        yt = nl.ndarray(shape=(count, pack * columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=xt, src=x[first:last, 0:columns])
        nisa.scalar_tensor_tensor(dst=yt, data=xt, op0=nl.maximum, operand0=0.0, op1=nl.multiply, operand1=xt)
        nisa.dma_copy(dst=y[first:last, 0:columns], src=yt)
    return y


@nki.jit
def relu_squared_backward(dy: Any, x: Any) -> Any:
    """dy, x [N, C] -> dx [N, C] like x: 2 * max(x, 0) * dy; doubling is exact, so only the last product rounds."""
    rows, columns = x.shape
    assert columns <= MAX_COLUMNS, f"relu_squared_backward: C = {columns}, must be at most {MAX_COLUMNS}"
    dx = nl.ndarray(shape=(rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for first, count, pack in row_tiles(rows, columns, nl.program_id(axis=0), nl.num_programs(axes=0)):
        last = first + count * pack
        xt = nl.ndarray(shape=(count, pack * columns), dtype=x.dtype, buffer=nl.sbuf)
        dyt = nl.ndarray(shape=(count, pack * columns), dtype=dy.dtype, buffer=nl.sbuf)
        doubled = nl.ndarray(shape=(count, pack * columns), dtype=x.dtype, buffer=nl.sbuf)
        dxt = nl.ndarray(shape=(count, pack * columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=xt, src=x[first:last, 0:columns])
        nisa.dma_copy(dst=dyt, src=dy[first:last, 0:columns])
        nisa.tensor_scalar(dst=doubled, data=xt, op0=nl.maximum, operand0=0.0, op1=nl.multiply, operand1=2.0)
        nisa.tensor_tensor(dst=dxt, data1=doubled, data2=dyt, op=nl.multiply)
        nisa.dma_copy(dst=dx[first:last, 0:columns], src=dxt)
    return dx
