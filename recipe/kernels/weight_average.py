"""An exponential moving average of weights, in place: average <- average + weight (value - average).

All fp32. The weight comes in a tensor, 128 equal values, because it changes from step to step and a Python value would
be compiled into the kernel. With weight (1 - decay) / (1 - decay^t) in step t the average is that of the values so far,
each weighted by decay to the power of its age, without a bias towards where it began.

What the kernel needs: average and value flat, contiguous and of one length. Any length, LNC 1 and 2. A tile takes three
times `WIDEST` fp32 of SBUF.
"""

from __future__ import annotations

from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import torch
from torch import Tensor
from torch_neuronx import wrap_nki

from recipe.kernels.tiling import PARTITIONS, element_tiles

WIDEST = 4096  # elements per partition: 16 KiB of each tile


class NkiWeightAverage:
    """The average's update by the NKI kernel below."""

    def __init__(self, lnc: int) -> None:
        self.lnc = lnc

    def __call__(self, average: Tensor, value: Tensor, weight: float) -> None:
        """Average [N] in place, value [N]."""
        column = torch.full((PARTITIONS, 1), weight, dtype=torch.float32, device=average.device)
        wrap_nki(weight_average_step)[self.lnc](average=average, value=value, weight=column)


class TorchWeightAverage:
    """The average's update by torch operators."""

    def __call__(self, average: Tensor, value: Tensor, weight: float) -> None:
        """Average [N] in place, value [N]."""
        average.lerp_(value, weight)


@nki.jit
def weight_average_step(average: Any, value: Any, weight: Any) -> Any:
    """Average, value [N] fp32, weight [128, 1] fp32 -> average, written in place."""
    (total,) = average.shape
    column = nl.ndarray(shape=weight.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=column, src=weight)
    for first, count, width in element_tiles(total, WIDEST, nl.program_id(axis=0), nl.num_programs(axes=0)):
        pattern = [[width, count], [1, width]]
        old = nl.ndarray(shape=(count, width), dtype=average.dtype, buffer=nl.sbuf)
        new = nl.ndarray(shape=(count, width), dtype=value.dtype, buffer=nl.sbuf)
        way = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=old, src=average.ap(pattern=pattern, offset=first))
        nisa.dma_copy(dst=new, src=value.ap(pattern=pattern, offset=first))
        nisa.tensor_tensor(dst=way, data1=new, data2=old, op=nl.subtract)
        nisa.scalar_tensor_tensor(
            dst=old, data=way, op0=nl.multiply, operand0=column[0:count, 0:1], op1=nl.add, operand1=old
        )
        nisa.dma_copy(dst=average.ap(pattern=pattern, offset=first), src=old)
    return average
