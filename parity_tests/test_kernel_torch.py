"""What torch's operators compute in the place of kernels is the definition, in value and gradients."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from recipe.kernels import head_cross_entropy
from recipe.kernels.head_cross_entropy import (
    TorchHeadCrossEntropy,
    head_cross_entropy_reference,
)
from recipe.kernels.newton_schulz import (
    POLAR_EXPRESS,
    QUINTIC,
    Coefficients,
    newton_schulz_reference,
    newton_schulz_torch,
)
from recipe.kernels.relu_squared import TorchReLUSquared, relu_squared_reference
from recipe.kernels.rms_norm import RMSNormByTorch, TorchRMSNorm, rms_norm_reference
from recipe.kernels.rotary_qk_norm import TorchRotaryQKNorm, rotary_norm_reference, rotary_tables
from recipe.kernels.softcap_cross_entropy import TorchSoftcapCrossEntropy, softcap_cross_entropy_reference

TARGETS = torch.arange(6).view(2, 3) * 9 % 50
COS, SIN = rotary_tables(3, 8, 100.0, torch.device("cpu"))

Function = Callable[..., Tensor]
CASES: dict[str, tuple[Function, Function, list[tuple[int, ...]]]] = {
    "norm": (
        lambda x, gain: RMSNormByTorch.apply(x, gain, 0.1),
        lambda x, gain: rms_norm_reference(x, gain, 0.1),
        [(2, 3, 16), (16,)],
    ),
    "relu squared": (TorchReLUSquared(), relu_squared_reference, [(2, 3, 16)]),
    "rotary": (
        lambda q, k: torch.stack(TorchRotaryQKNorm(0.1)(q, k, COS, SIN)),
        lambda q, k: torch.stack([rotary_norm_reference(x, COS, SIN, 0.1) for x in (q, k)]),
        [(2, 3, 2, 8), (2, 3, 2, 8)],
    ),
    **{
        f"loss, cap {cap}": (
            lambda z, cap=cap: TorchSoftcapCrossEntropy(cap)(z, TARGETS)[0],
            lambda z, cap=cap: softcap_cross_entropy_reference(z, TARGETS, cap),
            [(2, 3, 50)],
        )
        for cap in (0.0, 2.0)
    },
    **{
        f"head and loss, cap {cap}": (
            lambda x, weight, cap=cap: TorchHeadCrossEntropy(cap)(x, weight, TARGETS)[0],
            lambda x, weight, cap=cap: head_cross_entropy_reference(x, weight, TARGETS, cap),
            [(2, 3, 16), (50, 16)],
        )
        for cap in (0.0, 2.0)
    },
}


def with_gradients(function: Function, given: list[Tensor]) -> list[Tensor]:
    leaves = [one.clone().requires_grad_() for one in given]
    out = function(*leaves)
    slopes = torch.linspace(0.5, 1.5, out.numel()).view(out.shape).to(out.dtype)
    (out * slopes).sum().backward()
    return [out.detach(), *(leaf.grad for leaf in leaves if leaf.grad is not None)]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_values_and_gradients_are_those_of_the_definition(
    name: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head_cross_entropy, "CHUNK_LOGITS", 3 * 50)  # four rows, and a shorter chunk of two
    fast, definition, shapes = CASES[name]
    generator = torch.Generator().manual_seed(1)
    # Gains and the head's weight stay fp32 whatever the activations are.
    given = [
        torch.randn(shape, generator=generator).to(dtype if number == 0 or name == "rotary" else torch.float32)
        for number, shape in enumerate(shapes)
    ]
    allowed = 3e-6 if dtype is torch.float32 else 3e-2
    expected = with_gradients(definition, given)
    found = with_gradients(fast, given)
    assert len(found) == len(expected) == 1 + len(shapes)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        assert (one - other).abs().max() <= allowed * other.abs().max()
    off = with_gradients(definition, [given[0] * 1.25, *given[1:]])
    assert any(
        (one - other).abs().max() > allowed * other.abs().max() for one, other in zip(off, expected, strict=True)
    )


@pytest.mark.parametrize("shape", [(2, 8, 32), (2, 32, 8), (2, 16, 16)])
@pytest.mark.parametrize("coefficients", [QUINTIC, POLAR_EXPRESS])
def test_directions_by_gram_matrices_are_those_of_the_definition(
    shape: tuple[int, int, int], coefficients: Coefficients
) -> None:
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    expected = newton_schulz_reference(matrices, coefficients, 1.01, torch.float32)
    found = newton_schulz_torch(matrices, coefficients, 1.01, torch.float32)
    assert (found - expected).norm() <= 1e-4 * expected.norm()
    other = newton_schulz_torch(matrices, coefficients[:-1], 1.01, torch.float32)
    assert (other - expected).norm() > 1e-2 * expected.norm()
    rounded = newton_schulz_reference(matrices, coefficients, 1.01, torch.bfloat16)
    assert torch.equal(newton_schulz_torch(matrices, coefficients, 1.01, torch.bfloat16), rounded)


def test_the_norm_has_its_gain_and_no_reference_to_whole_logits_is_kept_by_the_chunked_loss() -> None:
    norm = TorchRMSNorm(4, 0.0)
    norm.weight.data.copy_(torch.tensor([1.0, 2.0, 3.0, 4.0]))
    assert torch.equal(norm(torch.ones(1, 1, 4)), torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]))
    x, weight = torch.randn(2, 3, 16, requires_grad=True), torch.randn(50, 16, requires_grad=True)
    loss, losses = TorchHeadCrossEntropy(2.0)(x, weight, TARGETS)
    assert not losses.requires_grad
    assert losses.mean() == loss
    kept: object = loss.grad_fn
    assert sorted(tuple(one.shape) for one in kept.saved_tensors) == [(6, 16), (50, 16)]  # type: ignore[attr-defined]
