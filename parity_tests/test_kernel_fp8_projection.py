"""The projection in fp8 on NKI: its own scales, its rounding, and how far it is from the plain product."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import torch
from torch import Tensor

from parity_tests.kernel_checks import assert_close, cores, dtypes, gradients, neuron, random
from recipe.kernels.fp8_projection import NkiFp8Projection, TorchFp8Projection, sbuf_bytes


def projection(weight: Tensor, lnc: int) -> NkiFp8Projection:
    module = NkiFp8Projection(weight.size(1), weight.size(0), lnc).to("neuron")
    with torch.no_grad():
        module.weight.copy_(weight)
    return module


def in_fp8(rows: Tensor) -> Tensor:
    """What is left of the rows after scaling, rounding to e4m3 (the type with infinity) and scaling back, in fp64."""
    values = rows.float().numpy()
    scale = np.maximum(np.abs(values).max(-1, keepdims=True), np.float32(2.0**-60)) * np.float32(1 / 240)
    scaled = values * (np.float32(1) / scale)
    if rows.dtype == torch.bfloat16:
        scaled = scaled.astype(ml_dtypes.bfloat16).astype(np.float32)
    rounded = np.clip(scaled, -240, 240).astype(ml_dtypes.float8_e4m3).astype(np.float64)
    return torch.from_numpy(rounded * scale.astype(np.float64))


@cores
@dtypes
@pytest.mark.parametrize(
    ("shape", "outputs"),
    [((1, 1), 1), ((2, 65, 64), 127), ((127, 257), 129), ((129, 255), 600), ((3, 512), 40), ((5, 129), 3)],
)
def test_fp8_projection(shape: tuple[int, ...], outputs: int, dtype: torch.dtype, lnc: int) -> None:
    x, weight = random(*shape, dtype=dtype, scale=3.0), random(outputs, shape[-1], dtype=torch.float32, seed=1)
    dy = random(*shape[:-1], outputs, dtype=dtype, seed=2)
    x.view(-1, shape[-1])[-1] *= 1e-6  # scales differ from row to row
    module = projection(weight, lnc)
    leaf = x.to("neuron").requires_grad_()
    y = module(leaf)
    assert y.dtype == dtype
    expected, sums = in_fp8(x) @ in_fp8(weight).mT, in_fp8(x).abs() @ in_fp8(weight).abs().mT
    assert_close(y, expected, "y", sums)
    by_torch = TorchFp8Projection(shape[-1], outputs)
    by_torch.weight.data.copy_(weight)
    torch_leaf = x.clone().requires_grad_()
    assert_close(by_torch(torch_leaf), expected, "torch y", sums)
    if shape[-1] > 1:
        with pytest.raises(AssertionError, match="beyond the tolerance"):
            assert_close(y, x.double() @ weight.double().mT, "control", sums)

    y.backward(dy.to("neuron"))
    by_torch(torch_leaf).backward(dy)
    assert leaf.grad is not None
    assert module.weight.grad is not None
    assert (leaf.grad.dtype, module.weight.grad.dtype) == (dtype, torch.float32)
    for found, other in ((leaf.grad, torch_leaf.grad), (module.weight.grad, by_torch.weight.grad)):
        assert other is not None
        assert torch.allclose(found.cpu().float(), other.float(), rtol=0.02, atol=1e-3)
    if dtype == torch.float32:

        def plain(x: Tensor, weight: Tensor) -> Tensor:
            return x @ weight.mT

        dx, dweight = gradients(plain, [x.double(), weight.double()], [dy.double()])
        assert_close(leaf.grad, dx, "dx")
        assert_close(module.weight.grad, dweight, "dweight")


def test_a_power_of_two_passes_through_unchanged_and_rows_do_not_meet() -> None:
    x, weight = random(200, 300, dtype=torch.bfloat16), random(90, 300, dtype=torch.float32, seed=1)
    powers = (2.0 ** torch.arange(200).remainder(23).sub(11))[:, None]
    module = projection(weight, 2)
    y = module(x.to("neuron")).cpu()
    assert torch.equal(module((x * powers).to(x.dtype).to("neuron")).cpu(), (y * powers).to(y.dtype))
    assert torch.equal(projection(4.0 * weight, 2)(x.to("neuron")).cpu(), 4.0 * y)
    assert torch.equal(module(x[150:].to("neuron")).cpu(), y[150:])
    assert not torch.equal(module((x * 3.0).to(x.dtype).to("neuron")).cpu(), 3.0 * y)


def test_it_is_within_a_few_percent_of_the_plain_product_and_not_equal_to_it() -> None:
    x, weight = random(64, 768, dtype=torch.float32), random(100, 768, dtype=torch.float32, seed=1)
    plain = x @ weight.mT
    error = (projection(weight, 1)(x.to("neuron")).cpu() - plain).norm() / plain.norm()
    assert 0.01 < error < 0.05  # each factor is off by 1/16 at most, by 0.025 in the mean square


def test_zeros_and_the_largest_of_a_row_are_exact() -> None:
    x = torch.zeros(3, 10)
    x[1, 4], x[2, :] = -7.5, 0.25
    y = projection(torch.eye(10), 1)(x.to("neuron")).cpu()
    assert torch.allclose(y, x, rtol=1e-6, atol=0.0)
    assert torch.equal(y[0], torch.zeros(10))


@pytest.mark.parametrize(("outputs", "inputs"), [(4608, 1152), (1152, 4608)])
def test_the_largest_projections_of_the_contest_fit(outputs: int, inputs: int) -> None:
    x, weight = random(3, inputs, dtype=torch.bfloat16), random(outputs, inputs, dtype=torch.float32)
    y = projection(weight, 1)(*neuron(x))
    assert torch.allclose(y.cpu()[:, :5].double(), in_fp8(x) @ in_fp8(weight[:5]).mT, rtol=0.01, atol=0.01)
    assert sbuf_bytes(8192, 1152, 2) < 212_984
    with pytest.raises(AssertionError, match="fp8_projection_forward: weights 32768 x 512 need"):
        projection(torch.zeros(32768, 512), 1)(torch.zeros(1, 512).to("neuron"))
