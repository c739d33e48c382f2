"""The gradients of one update: their mean over all ranks."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor, nn

from recipe.config import Config
from recipe.ranks import scatter


def average_gradients(config: Config, parameters: Sequence[nn.Parameter]) -> None:
    """Replace every gradient by its mean over ranks: one all-reduce over one flat fp32 buffer."""
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if len(gradients) != len(parameters):
        raise RuntimeError("a parameter has no gradient: every parameter must take part in the loss on every rank")
    flat = joined_in_fp32(gradients) if config.rounds_parameters else joined(gradients)
    dist.all_reduce(flat)
    flat /= config.world_size
    scatter(flat, gradients)


def joined(gradients: Sequence[Tensor]) -> Tensor:
    """All elements in one flat tensor."""
    return torch.cat([gradient.reshape(-1) for gradient in gradients])


def joined_in_fp32(gradients: Sequence[Tensor]) -> Tensor:
    """The same where some are in bf16: sums over ranks are of fp32."""
    return torch.cat([gradient.reshape(-1).float() for gradient in gradients])


def gradient_of(parameter: nn.Parameter) -> Tensor:
    """The gradient of a parameter that has one."""
    assert parameter.grad is not None, "step() needs gradients: call backward() first"
    return parameter.grad
