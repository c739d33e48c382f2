"""The gradients of a product on NKI: against fp64, in any shape, and what must hold of any gradient."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from nki._account import accounting
from torch import Tensor

from parity_tests.kernel_checks import assert_close, check_slope, cores, dtypes, neuron, random
from recipe.kernels.linear_backward import (
    input_gradient_reference,
    nki_input_gradient,
    nki_weight_gradient,
    weight_gradient_reference,
)

SHAPES = [(1, 1, 1), (127, 129, 65), (130, 600, 513), (70, 40, 1030), (257, 2050, 3)]  # rows, M, K


def operands(rows: int, outputs: int, inputs: int, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """dy [N, M], x [N, K], W [M, K]; W in fp32."""
    dy, x = random(rows, outputs, dtype=dtype), random(rows, inputs, dtype=dtype, seed=1)
    return dy, x, random(outputs, inputs, dtype=torch.float32, seed=2)


def check(rows: int, outputs: int, inputs: int, dtype: torch.dtype, lnc: int) -> None:
    """Both gradients against fp64: sums in fp32, rounded once; one that is left out is noticed."""
    dy, x, weight = operands(rows, outputs, inputs, dtype)
    dx = nki_input_gradient(*neuron(dy, weight), lnc)
    dweight = nki_weight_gradient(*neuron(dy, x), torch.float32, lnc)
    assert (dx.dtype, dweight.dtype) == (dtype, torch.float32)
    slopes, wide, rounded = dy.double(), x.double(), weight.to(dtype).double()
    assert_close(dx, slopes @ rounded, "dx", slopes.abs() @ rounded.abs())
    assert_close(dweight, slopes.mT @ wide, "dW", slopes.abs().mT @ wide.abs())
    for found, without, what in (
        (dx, slopes[:, :-1] @ rounded[:-1], "dx"),
        (dweight, slopes[:-1].mT @ wide[:-1], "dW"),
    ):
        with pytest.raises(AssertionError, match=f"{what}: beyond the tolerance"):
            assert_close(found, without, what)


@cores
@dtypes
@pytest.mark.parametrize(("rows", "outputs", "inputs"), SHAPES)
def test_linear_backward(rows: int, outputs: int, inputs: int, dtype: torch.dtype, lnc: int) -> None:
    check(rows, outputs, inputs, dtype, lnc)


class Product(torch.autograd.Function):
    """x W^T by torch, with the gradients of the kernels."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return x @ weight.mT

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        return nki_input_gradient(dy, weight, 2), nki_weight_gradient(dy, x, weight.dtype, 2)


def test_gradients_are_the_slope() -> None:
    _, x, weight = operands(9, 20, 12, torch.float32)
    check_slope(lambda *given: Product.apply(*given), [x, weight])  # type: ignore[no-untyped-call]


@dtypes
def test_torch_computes_the_same(dtype: torch.dtype) -> None:
    dy, x, weight = operands(40, 30, 20, dtype)
    slopes, wide, rounded = dy.double(), x.double(), weight.to(dtype).double()
    assert_close(input_gradient_reference(dy, weight), slopes @ rounded, "dx", slopes.abs() @ rounded.abs())
    found = weight_gradient_reference(dy, x, torch.float32)
    assert torch.equal(found, found.to(dtype).float())  # rounded on the way
    assert_close(found.to(dtype), slopes.mT @ wide, "dW", slopes.abs().mT @ wide.abs())


def test_the_weights_dtype_is_that_of_their_gradient() -> None:
    dy, x, _ = operands(9, 8, 7, torch.bfloat16)
    wide = nki_weight_gradient(*neuron(dy, x), torch.float32, 1)
    narrow = nki_weight_gradient(*neuron(dy, x), torch.bfloat16, 1)
    assert torch.equal(narrow.cpu(), wide.cpu().to(torch.bfloat16))
    assert not torch.equal(narrow.cpu().float(), wide.cpu())


def test_rows_and_columns_do_not_see_each_other() -> None:
    dy, x, weight = operands(300, 520, 40, torch.float32)
    more, moved = dy.clone(), dy.clone()
    more[200], moved[:, 515] = more[200] + 1.0, moved[:, 515] + 1.0
    before, after = (nki_input_gradient(*neuron(slopes, weight), 2).cpu() for slopes in (dy, more))
    assert [row for row in range(300) if not torch.equal(before[row], after[row])] == [200]
    before, after = (nki_weight_gradient(*neuron(slopes, x), torch.float32, 2).cpu() for slopes in (dy, moved))
    assert [row for row in range(520) if not torch.equal(before[row], after[row])] == [515]


@dtypes
def test_contest_size_fits(dtype: torch.dtype) -> None:
    """Width 1152, MLP 4608, and as many outputs as there may be: SBUF and PSUM would overflow here."""
    with accounting() as accounts:
        nki_input_gradient(*neuron(random(520, 4608, dtype=dtype), random(4608, 1152, dtype=torch.float32)), 1)
        nki_weight_gradient(*neuron(random(130, 4608, dtype=dtype), random(130, 1152, dtype=dtype)), torch.float32, 1)
        nki_input_gradient(*neuron(random(2, 32768, dtype=dtype), random(32768, 2, dtype=torch.float32)), 1)
    assert [account.psum_peak for account in accounts][1] == 16384  # all of it
    with pytest.raises(AssertionError, match="input_gradient: M = 32769"):
        nki_input_gradient(*neuron(random(1, 32769, dtype=dtype), random(32769, 1, dtype=torch.float32)), 1)
