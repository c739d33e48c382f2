"""The AdamW step (Loshchilov and Hutter, 2019), element by element and in place:

    mean   <- beta1 mean + (1 - beta1) gradient
    square <- beta2 square + (1 - beta2) gradient^2
    parameter <- (1 - lr decay) parameter - lr / (1 - beta1^t) mean / (sqrt(square / (1 - beta2^t)) + eps)

Parameter and gradient are fp32, the state (mean and square) fp32 or bf16; arithmetic is fp32, and the step uses the new
state before it is rounded to its dtype.

What changes from step to step (learning rate, bias corrections) comes in a tensor, one column of 128 equal values each,
because a Python value would be compiled into the kernel: a new one for every step.

What the kernel needs: all four tensors flat, contiguous and of one length, cut into segments with scalars of their own;
0 <= beta < 1; eps >= 2^-34, so that a square below the square root's activation table (2^-116) cannot be told from it;
gradients below 2^42, for the reciprocal's table. Any length, LNC 1 and 2. A tile set takes nine times `WIDEST` fp32 of
SBUF.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import torch
from torch import Tensor
from torch_neuronx import wrap_nki

from recipe.kernels.tiling import PARTITIONS, element_tiles

WIDEST = 2048  # elements per partition: 8 KiB of each fp32 tile
SMALLEST_EPS = 2.0**-34
SMALLEST_SQUARE = 2.0**-116
SCALARS = 3  # columns per segment


def adamw_scalars(rates: Sequence[tuple[float, float]], betas: tuple[float, float], updates: int) -> list[float]:
    """Per segment, of (learning rate, weight decay): what multiplies the parameter, what multiplies the mean, what
    multiplies the square. `updates` counts this one.
    """
    correction1, correction2 = 1.0 - betas[0] ** updates, 1.0 - betas[1] ** updates
    found: list[float] = []
    for lr, decay in rates:
        found += [1.0 - lr * decay, -lr / correction1, 1.0 / correction2]
    return found


def nki_adamw(
    parameter: Tensor,
    gradient: Tensor,
    mean: Tensor,
    square: Tensor,
    segments: tuple[tuple[int, int], ...],
    scalars: list[float],
    betas: tuple[float, float],
    eps: float,
    lnc: int,
) -> None:
    """One step by the kernel below, in place on parameter, mean and square, all flat.

    `segments`: (first, end) of each; `scalars`: those of `adamw_scalars`.
    """
    columns = torch.tensor(scalars, dtype=torch.float32, device=parameter.device).expand(PARTITIONS, -1).contiguous()
    wrap_nki(adamw_step)[lnc](
        parameter=parameter,
        gradient=gradient,
        mean=mean,
        square=square,
        scalars=columns,
        segments=segments,
        beta1=betas[0],
        beta2=betas[1],
        eps=eps,
    )


def adamw_reference(
    parameter: Tensor,
    gradient: Tensor,
    mean: Tensor,
    square: Tensor,
    updates: int,
    lr: float,
    decay: float,
    betas: tuple[float, float],
    eps: float,
) -> None:
    """The definition by torch operators, in place on parameter, mean and square."""
    mean.lerp_(gradient, 1.0 - betas[0])
    square.mul_(betas[1]).addcmul_(gradient, gradient, value=1.0 - betas[1])
    spread = square.sqrt().div_((1.0 - betas[1] ** updates) ** 0.5).add_(eps)
    parameter.mul_(1.0 - lr * decay)
    parameter.addcdiv_(mean, spread, value=-lr / (1.0 - betas[0] ** updates))


@nki.jit
def adamw_step(
    parameter: Any,
    gradient: Any,
    mean: Any,
    square: Any,
    scalars: Any,
    segments: Any,
    beta1: float,
    beta2: float,
    eps: float,
) -> Any:
    """Parameter, gradient [N] fp32, mean, square [N] fp32 or bf16, scalars [128, 3 segments] fp32, segments
    ((first, end), ...) -> parameter, mean, square, written in place.
    """
    assert eps >= SMALLEST_EPS, f"adamw_step: eps = {eps}, must be at least {SMALLEST_EPS}"
    core, cores = nl.program_id(axis=0), nl.num_programs(axes=0)
    columns = nl.ndarray(shape=scalars.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=columns, src=scalars)
    for segment, (start, end) in enumerate(segments):
        for first, count, width in element_tiles(end - start, WIDEST, core, cores):
            pattern, offset = [[width, count], [1, width]], start + first
            column = SCALARS * segment
            keep = columns[0:count, column : column + 1]
            slope = columns[0:count, column + 1 : column + 2]
            correction = columns[0:count, column + 2 : column + 3]

            p = nl.ndarray(shape=(count, width), dtype=parameter.dtype, buffer=nl.sbuf)
            g = nl.ndarray(shape=(count, width), dtype=gradient.dtype, buffer=nl.sbuf)
            m = nl.ndarray(shape=(count, width), dtype=mean.dtype, buffer=nl.sbuf)
            v = nl.ndarray(shape=(count, width), dtype=square.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=p, src=parameter.ap(pattern=pattern, offset=offset))
            nisa.dma_copy(dst=g, src=gradient.ap(pattern=pattern, offset=offset))
            nisa.dma_copy(dst=m, src=mean.ap(pattern=pattern, offset=offset))
            nisa.dma_copy(dst=v, src=square.ap(pattern=pattern, offset=offset))

            part = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
            mean_now = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
            square_now = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation(dst=part, op=nl.copy, data=g, scale=1.0 - beta1)
            nisa.scalar_tensor_tensor(dst=mean_now, data=m, op0=nl.multiply, operand0=beta1, op1=nl.add, operand1=part)
            nisa.activation(dst=part, op=nl.square, data=g, scale=(1.0 - beta2) ** 0.5)
            nisa.scalar_tensor_tensor(
                dst=square_now, data=v, op0=nl.multiply, operand0=beta2, op1=nl.add, operand1=part
            )
            nisa.tensor_copy(dst=m, src=mean_now)
            nisa.tensor_copy(dst=v, src=square_now)
            nisa.dma_copy(dst=mean.ap(pattern=pattern, offset=offset), src=m)
            nisa.dma_copy(dst=square.ap(pattern=pattern, offset=offset), src=v)

            spread = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
            step = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(
                dst=spread,
                data=square_now,
                op0=nl.multiply,
                operand0=correction,
                op1=nl.maximum,
                operand1=SMALLEST_SQUARE,
            )
            nisa.activation(dst=spread, op=nl.sqrt, data=spread)
            nisa.activation(dst=spread, op=nl.reciprocal, data=spread, bias=eps)
            nisa.scalar_tensor_tensor(
                dst=step, data=mean_now, op0=nl.multiply, operand0=slope, op1=nl.multiply, operand1=spread
            )
            nisa.scalar_tensor_tensor(dst=p, data=p, op0=nl.multiply, operand0=keep, op1=nl.add, operand1=step)
            nisa.dma_copy(dst=parameter.ap(pattern=pattern, offset=offset), src=p)
    return parameter, mean, square
