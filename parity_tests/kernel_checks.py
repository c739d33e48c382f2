"""What the tests of kernels share: inputs, gradients of a reference in fp64, and tolerances that follow from dtypes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

FP32_STEPS = 128  # rounding steps of fp32 that an operation may add up, of the largest value in its sums

dtypes = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["fp32", "bf16"])
cores = pytest.mark.parametrize("lnc", [1, 2])


def assert_close(
    found: Tensor, expected: Tensor, what: str, sums: Tensor | None = None, noise: Tensor | None = None
) -> None:
    """`expected` is fp64; `found` may be off by half a unit of its dtype, by rounding in fp32, and by `noise`.

    `sums`: for every element the magnitudes that were added up to make it (by default the largest element of all).
    """
    found64 = found.detach().cpu().double()
    assert found64.shape == expected.shape, what
    total = expected.abs().max() if sums is None else sums
    allowed = expected.abs() * torch.finfo(found.dtype).eps / 2 * 1.01
    allowed = allowed + total * FP32_STEPS * torch.finfo(torch.float32).eps
    if noise is not None:
        allowed = allowed + noise
    excess = ((found64 - expected).abs() - allowed).max().item()
    assert excess <= 0.0, f"{what}: beyond the tolerance by {excess}"


def noise_of(dtype: torch.dtype, squares: Tensor) -> Tensor:
    """How far rounding terms to `dtype` may move their sum, given the sum of the terms' squares.

    Each is off by at most half a unit of itself, one way or the other: six times the root of the squares is passed
    once in 30 million sums (Hoeffding, 1963).
    """
    return 6 * torch.finfo(dtype).eps / 2 * squares.sqrt()


def gradients(
    function: Callable[..., Tensor | tuple[Tensor, ...]], inputs: list[Tensor], dout: list[Tensor]
) -> list[Tensor]:
    """Gradients of `inputs` under the given gradients of the results."""
    leaves = [tensor.detach().requires_grad_() for tensor in inputs]
    outputs = function(*leaves)
    torch.autograd.backward([outputs] if isinstance(outputs, Tensor) else list(outputs), dout)
    return [leaf.grad for leaf in leaves if leaf.grad is not None]


def check_slope(function: Callable[..., Tensor], inputs: list[Tensor], step: float = 0.02) -> None:
    """The backward pass of an fp32 operation on the device against the central difference of its own forward pass.

    The result is weighted by random numbers and added up in fp64, so that the difference keeps its digits. The
    direction is the gradient itself and a random one, so that the slope is as large as the gradient.
    """
    generator = torch.Generator().manual_seed(11)
    leaves = [tensor.detach().to("neuron").requires_grad_() for tensor in inputs]
    out = function(*leaves)
    weights = torch.randn(out.shape, generator=generator)
    out.backward(weights.to("neuron"))
    slope = torch.cat([leaf.grad.cpu().double().flatten() for leaf in leaves if leaf.grad is not None])
    aside = torch.randn(slope.shape, generator=generator, dtype=torch.float64)
    along = slope / slope.norm() + aside / aside.norm()
    pieces = along.split([tensor.numel() for tensor in inputs])

    def value(distance: float) -> float:
        moved = [x + distance * d.view(x.shape).float() for x, d in zip(inputs, pieces, strict=True)]
        return float((function(*neuron(*moved)).detach().cpu().double() * weights.double()).sum())

    found = (value(step) - value(-step)) / (2 * step)
    assert found == pytest.approx(float(slope @ along), rel=3e-3)
    assert found != pytest.approx(float(slope @ along) * 1.01, rel=3e-3)


def random(*shape: int, dtype: torch.dtype, scale: float = 1.0, seed: int = 0) -> Tensor:
    """Normal numbers."""
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(*shape, generator=generator) * scale).to(dtype)


def neuron(*tensors: Tensor) -> list[Tensor]:
    """The tensors on the Neuron device."""
    return [tensor.to("neuron") for tensor in tensors]
