"""Depthwise causal convolution on NKI: what it computes, and that no position sees a later one."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from parity_tests.kernel_checks import assert_close, check_slope, cores, dtypes, gradients, neuron, random
from recipe.kernels.causal_convolution import (
    CausalConvolutionFunction,
    NkiCausalConvolution,
    causal_convolution_reference,
)


def definition(x: Tensor, weight: Tensor) -> Tensor:
    """As torch's convolution, which correlates: taps reversed, zeros before the start."""
    taps, channels = weight.shape
    kernel = weight.flip(0).T.reshape(channels, 1, taps)
    return F.conv1d(F.pad(x.transpose(1, 2), (taps - 1, 0)), kernel, groups=channels).transpose(1, 2)


@cores
@dtypes
@pytest.mark.parametrize(
    ("shape", "taps"), [((1, 1, 3), 4), ((3, 2, 8), 3), ((2, 127, 40), 2), ((1, 129, 64), 4), ((5, 131, 520), 3)]
)
def test_causal_convolution(shape: tuple[int, int, int], taps: int, dtype: torch.dtype, lnc: int) -> None:
    x, dy = random(*shape, dtype=dtype, scale=2.0), random(*shape, dtype=dtype, seed=1)
    weight = random(taps, shape[2], dtype=torch.float32, seed=2)
    module = NkiCausalConvolution(shape[2], taps, lnc).to("neuron")
    with torch.no_grad():
        module.weight.copy_(weight)
    leaf = x.to("neuron").requires_grad_()
    y = module(leaf)
    assert y.dtype == dtype
    expected = definition(x.double(), weight.double())
    assert_close(y, expected, "y")
    assert_close(causal_convolution_reference(x, weight), expected, "torch y")
    y.backward(*neuron(dy))
    dx, dweight = gradients(definition, [x.double(), weight.double()], [dy.double()])
    assert leaf.grad is not None
    assert module.weight.grad is not None
    assert_close(leaf.grad, dx, "dx")
    assert_close(module.weight.grad, dweight, "dweight")
    with pytest.raises(AssertionError, match="beyond the tolerance"):
        assert_close(module.weight.grad * 1.001, dweight, "control")


def test_gradients_are_the_slope() -> None:
    def run(x: Tensor, weight: Tensor) -> Tensor:
        y: Tensor = CausalConvolutionFunction.apply(x, weight, 2)  # type: ignore[no-untyped-call]
        return y

    check_slope(run, [random(2, 9, 12, dtype=torch.float32), random(3, 12, dtype=torch.float32, seed=1)])


def test_no_position_sees_a_later_one() -> None:
    x = random(2, 140, 16, dtype=torch.bfloat16)
    later = x.clone()
    later[:, 130] += 1.0
    module = NkiCausalConvolution(16, 3, 2)
    with torch.no_grad():
        module.weight.copy_(random(3, 16, dtype=torch.float32, seed=1))
    module.to("neuron")
    before, after = module(x.to("neuron")).cpu(), module(later.to("neuron")).cpu()
    assert [t for t in range(140) if not torch.equal(before[:, t], after[:, t])] == [130, 131, 132]


def test_a_new_one_changes_nothing() -> None:
    x = random(1, 7, 8, dtype=torch.bfloat16)
    assert torch.equal(NkiCausalConvolution(8, 4, 1).to("neuron")(x.to("neuron")).cpu(), x)


def test_contest_size_fits() -> None:
    """Width 1152, four taps, in fp32: SBUF would overflow here if the tiles were too large."""
    module = NkiCausalConvolution(1152, 4, 1).to("neuron")
    module(random(1, 130, 1152, dtype=torch.float32).to("neuron")).sum().backward()
    assert module.weight.grad is not None


@pytest.mark.parametrize(("channels", "taps", "said"), [(8, 5, "k = 5 taps"), (1537, 2, "C = 1537")])
def test_what_the_kernel_cannot_do_is_an_error(channels: int, taps: int, said: str) -> None:
    module = NkiCausalConvolution(channels, taps, 1).to("neuron")
    with pytest.raises(AssertionError, match=said):
        module(torch.zeros(1, 4, channels, device="neuron"))
