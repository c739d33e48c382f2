"""The MLP as one kernel, with ReLU squared and with SwiGLU: result, gradients, and that nothing else is left in HBM."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from parity_tests.kernel_checks import assert_close, check_slope, cores, dtypes, neuron, noise_of, random
from recipe.kernels import fused_mlp
from recipe.kernels.fused_mlp import (
    NkiFusedGatedMLP,
    NkiFusedMLP,
    fused_gated_mlp_reference,
    fused_mlp_reference,
)

SHAPES = [(1, 2, 3), (127, 130, 129), (129, 48, 513), (700, 96, 64)]  # rows, D, M; 513: more than one chunk


def inputs(rows: int, width: int, hidden: int, weights: int, dtype: torch.dtype) -> list[Tensor]:
    """x, the first product's weights, and down, scaled so that every stage has values of about 1."""
    firsts = [random(hidden, width, dtype=torch.float32, seed=seed) / width**0.5 for seed in range(1, weights + 1)]
    return [random(rows, width, dtype=dtype), *firsts, random(width, hidden, dtype=torch.float32, seed=9) / hidden**0.5]


@cores
@dtypes
@pytest.mark.parametrize("gated", [False, True], ids=["relu squared", "swiglu"])
@pytest.mark.parametrize(("rows", "width", "hidden"), SHAPES)
def test_fused_mlp(rows: int, width: int, hidden: int, gated: bool, dtype: torch.dtype, lnc: int) -> None:
    given, dy = inputs(rows, width, hidden, 2 if gated else 1, dtype), random(rows, width, dtype=dtype, seed=8)
    leaves = [tensor.requires_grad_() for tensor in neuron(*given)]
    module: torch.nn.Module = NkiFusedGatedMLP(lnc) if gated else NkiFusedMLP(lnc)
    y = module(*leaves)
    assert y.dtype == dtype

    wide = [tensor.to(dtype).double().requires_grad_() for tensor in given]
    before = [wide[0] @ weight.mT for weight in wide[1:-1]]
    h = before[0] * torch.sigmoid(before[0]) * before[1] if gated else before[0].clamp(min=0) ** 2
    expected = h @ wide[-1].mT
    for tensor in before:
        tensor.retain_grad()
    expected.backward(dy.double())
    x, firsts, down = wide[0].detach(), [weight.detach() for weight in wide[1:-1]], wide[-1].detach()
    h = h.detach()
    assert_close(y, expected.detach(), "y", h.abs() @ down.abs().mT + 1, noise_of(dtype, h**2 @ down.mT**2))
    reference = (fused_gated_mlp_reference if gated else fused_mlp_reference)(*given)
    assert_close(
        reference, expected.detach(), "torch y", h.abs() @ down.abs().mT + 1, noise_of(dtype, h**2 @ down.mT**2)
    )

    y.backward(*neuron(dy))
    errors = [tensor.grad for tensor in before if tensor.grad is not None]
    slopes = dy.double()
    checks = [
        (
            sum(e.abs() @ w.abs() for e, w in zip(errors, firsts, strict=True)),
            sum(e**2 @ w**2 for e, w in zip(errors, firsts, strict=True)),
        ),
        *[(e.abs().mT @ x.abs(), e.mT**2 @ x**2) for e in errors],
        (slopes.abs().mT @ h.abs(), slopes.mT**2 @ h**2),
    ]
    for leaf, wanted, (sums, squares) in zip(leaves, wide, checks, strict=True):
        assert leaf.grad is not None
        assert wanted.grad is not None
        assert leaf.grad.dtype == leaf.dtype
        found = leaf.grad
        assert_close(found, wanted.grad, "gradient", sums + 1, noise_of(dtype, squares))
        if rows > 1:  # one row has gradients as small as what rounding may do to them
            with pytest.raises(AssertionError, match="beyond the tolerance"):
                assert_close(found * 1.05, wanted.grad, "gradient", sums + 1, noise_of(dtype, squares))


@pytest.mark.parametrize("gated", [False, True], ids=["relu squared", "swiglu"])
def test_gradients_are_the_slope(gated: bool) -> None:
    given = inputs(5, 12, 20, 2 if gated else 1, torch.float32)
    check_slope(NkiFusedGatedMLP(2) if gated else NkiFusedMLP(2), given, step=0.005)


def test_groups_of_rows_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    given = neuron(*inputs(300, 40, 70, 1, torch.bfloat16))
    together, other = NkiFusedMLP(1)(*given), NkiFusedMLP(1)(given[0] * 1.1, *given[1:])
    monkeypatch.setattr(fused_mlp, "GROUP_BYTES", 1)
    assert torch.equal(NkiFusedMLP(1)(*given), together)
    assert not torch.equal(other, together)


def test_rows_do_not_see_each_other() -> None:
    given = neuron(*inputs(200, 32, 48, 1, torch.bfloat16))
    changed = given[0].clone()
    changed[150] += 1.0
    before, after = NkiFusedMLP(2)(*given).cpu(), NkiFusedMLP(2)(changed, *given[1:]).cpu()
    assert [row for row in range(200) if not torch.equal(before[row], after[row])] == [150]


@pytest.mark.parametrize(("gated", "hidden"), [(False, 4608), (True, 3072)], ids=["relu squared", "swiglu"])
def test_contest_size_fits(gated: bool, hidden: int) -> None:
    """Width 1152 in fp32, a whole group of rows: SBUF and PSUM would overflow here if that were too large.

    What the backward kernel holds does not depend on the hidden width, which is smaller there.
    """
    module: torch.nn.Module = NkiFusedGatedMLP(1) if gated else NkiFusedMLP(1)
    with torch.no_grad():
        assert module(*neuron(*inputs(512, 1152, hidden, 2 if gated else 1, torch.float32))).shape == (512, 1152)
    leaves = [x.requires_grad_() for x in neuron(*inputs(700, 1152, 513, 2 if gated else 1, torch.float32))]
    module(*leaves).sum().backward()
    assert leaves[0].grad is not None


@pytest.mark.parametrize(("width", "hidden", "said"), [(1281, 2, "D = 1281"), (2, 16385, "M = 16385")])
def test_what_the_kernel_cannot_do_is_an_error(width: int, hidden: int, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        NkiFusedMLP(1)(*neuron(torch.zeros(1, width), torch.zeros(hidden, width), torch.zeros(width, hidden)))
