"""SwiGLU on NKI: what it computes, and what must hold for any gate."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from parity_tests.kernel_checks import assert_close, check_slope, cores, dtypes, gradients, neuron, random
from recipe.kernels.swiglu import NkiSwiGLU, swiglu_reference


def definition(gate: Tensor, up: Tensor) -> Tensor:
    return gate / (1 + torch.exp(-gate)) * up


@cores
@dtypes
@pytest.mark.parametrize("shape", [(1, 1), (2, 5, 48), (127, 192), (129, 64), (3, 2048 + 7)])
def test_swiglu(shape: tuple[int, ...], dtype: torch.dtype, lnc: int) -> None:
    gate, up, dy = (random(*shape, dtype=dtype, scale=2.0, seed=seed) for seed in range(3))
    leaves = [x.requires_grad_() for x in neuron(gate, up)]
    expected = definition(gate.double(), up.double())
    y = NkiSwiGLU(lnc)(*leaves)
    assert y.dtype == dtype
    assert_close(y, expected, "y")
    assert_close(swiglu_reference(gate, up), expected, "torch y")
    with pytest.raises(AssertionError, match="beyond the tolerance"):
        assert_close(y * 1.02, expected, "control")
    y.backward(*neuron(dy))
    for leaf, wanted, name in zip(
        leaves, gradients(definition, [gate.double(), up.double()], [dy.double()]), ("dgate", "dup"), strict=True
    ):
        assert leaf.grad is not None
        assert leaf.grad.dtype == dtype
        assert_close(leaf.grad, wanted, name)


def test_gradients_are_the_slope() -> None:
    check_slope(NkiSwiGLU(2), [random(3, 40, dtype=torch.float32, seed=seed) for seed in (3, 4)])


def test_a_closed_gate_lets_nothing_through_and_an_open_one_everything() -> None:
    up = random(2, 64, dtype=torch.float32)
    closed, opened = (NkiSwiGLU(1)(*neuron(torch.full_like(up, gate), up)).cpu() for gate in (-200.0, 64.0))
    assert torch.equal(closed, torch.zeros_like(up))
    assert torch.equal(opened, 64.0 * up)


def test_contest_size_fits() -> None:
    """Hidden width 4608 (width 1152), in fp32: SBUF would overflow here if the tiles were too large."""
    gate, up = (random(130, 4608, dtype=torch.float32, seed=seed).to("neuron").requires_grad_() for seed in (5, 6))
    NkiSwiGLU(1)(gate, up).sum().backward()
    assert gate.grad is not None
