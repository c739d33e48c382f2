"""The Newton-Schulz kernel against fp64, and what the iteration must do to singular values.

With u the rounding unit of the dtype, a step on X (Frobenius norm at most 1) is wrong by at most, in that norm: u times
the polynomial's greatest slope (X was rounded), u (|b| + 2 |c|) (A was), u (|b| + |c|) (their polynomial was) and
u (|a| + |b| + |c|) (the result is). In fp32 the rounding of the sums comes on top, about as much again.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from nki._account import accounting
from torch import Tensor

from parity_tests.kernel_checks import cores, dtypes, random
from recipe.kernels.newton_schulz import (
    NORM_EPS,
    POLAR_EXPRESS,
    POLAR_EXPRESS_MARGIN,
    QUINTIC,
    QUINTIC_MARGIN,
    Coefficients,
    NkiNewtonSchulz,
    TorchNewtonSchulz,
    sbuf_bytes,
)

SHAPES = [(1, 1), (1, 7), (127, 129), (129, 127), (128, 520), (64, 64), (64, 64), (64, 64), (300, 140)]
sequences = pytest.mark.parametrize(
    ("coefficients", "margin"),
    [(QUINTIC, QUINTIC_MARGIN), (POLAR_EXPRESS, POLAR_EXPRESS_MARGIN)],
    ids=["quintic", "polar express"],
)


def by_kernel(matrices: list[Tensor], *settings: Any) -> list[Tensor]:
    return [found.cpu() for found in NkiNewtonSchulz(*settings)([matrix.to("neuron") for matrix in matrices])]


def batch(scale: float = 3.0) -> list[Tensor]:
    return [random(*shape, dtype=torch.float32, scale=scale, seed=seed) for seed, shape in enumerate(SHAPES)]


def expected64(matrix: Tensor, coefficients: Coefficients, margin: float) -> Tensor:
    """By singular values: the definition without the iteration's products."""
    u, s, v = torch.linalg.svd(matrix.double(), full_matrices=False)
    s = s / (s.square().sum().sqrt() * margin + NORM_EPS)
    for a, b, c in coefficients:
        s = a * s + b * s**3 + c * s**5
    return u @ torch.diag(s) @ v


def allowed(coefficients: Coefficients, dtype: torch.dtype) -> float:
    """The bound above, in the Frobenius norm, for one step."""
    ((a, b, c),) = ((abs(a), abs(b), abs(c)) for a, b, c in coefficients)
    s = torch.linspace(0, 1, 1001, dtype=torch.float64)
    slope = (coefficients[0][0] + 3 * coefficients[0][1] * s**2 + 5 * coefficients[0][2] * s**4).abs().max().item()
    steps = slope + (b + 2 * c) + (b + c) + (a + b + c)
    return steps * torch.finfo(dtype).eps / 2 * (2 if dtype == torch.float32 else 1)


@cores
@dtypes
@sequences
def test_one_step_is_the_polynomial_of_the_singular_values(
    coefficients: Coefficients, margin: float, dtype: torch.dtype, lnc: int
) -> None:
    first = coefficients[:1]
    check_step(batch(), first, margin, dtype, lnc)
    (a, b, c), matrix = first[0], batch()[4]
    other = by_kernel([matrix], ((a, b, c * 1.05),), margin, torch.float32, lnc)[0]
    assert (other.double() - expected64(matrix, first, margin)).norm().item() > allowed(first, torch.float32)


def check_step(matrices: list[Tensor], step: Coefficients, margin: float, dtype: torch.dtype, lnc: int) -> None:
    """One step of all in one launch, each within the bound."""
    for matrix, found in zip(matrices, by_kernel(matrices, step, margin, dtype, lnc), strict=True):
        assert found.dtype == torch.float32
        error = (found.double() - expected64(matrix, step, margin)).norm().item()
        assert error <= allowed(step, dtype), f"{tuple(matrix.shape)}: {error}"


@sequences
def test_all_steps_in_fp32_are_the_definition(coefficients: Coefficients, margin: float) -> None:
    """Each step multiplies the errors before it by its slope at zero at most."""
    matrices = batch()
    bound, slopes = 0.0, 1.0
    for step in reversed(coefficients):
        bound += slopes * allowed((step,), torch.float32)
        slopes *= step[0]
    by_torch = TorchNewtonSchulz(coefficients, margin, torch.float32)(matrices)
    found = by_kernel(matrices, coefficients, margin, torch.float32, 1)
    for matrix, one, other in zip(matrices, found, by_torch, strict=True):
        assert (one.double() - expected64(matrix, coefficients, margin)).norm().item() <= bound
        assert (other.double() - expected64(matrix, coefficients, margin)).norm().item() <= bound
    a, b, c = coefficients[-1]
    changed = (*coefficients[:-1], (a, b, c + 0.008))  # the fourth digit of the last coefficient
    assert (found[4].double() - expected64(matrices[4], changed, margin)).norm().item() > bound


@dtypes
@pytest.mark.parametrize(
    ("coefficients", "margin", "low", "high"),
    [(QUINTIC, QUINTIC_MARGIN, 0.65, 1.25), (POLAR_EXPRESS, POLAR_EXPRESS_MARGIN, 0.85, 1.15)],
    ids=["quintic", "polar express"],
)
def test_singular_values_go_into_the_band_and_the_vectors_stay(
    coefficients: Coefficients, margin: float, low: float, high: float, dtype: torch.dtype
) -> None:
    left, right = (torch.linalg.qr(random(size, 60, dtype=torch.float64, seed=size))[0] for size in (60, 200))
    values = torch.logspace(-1.5, 0.5, 60, dtype=torch.float64)  # two decades
    matrix = (left @ torch.diag(values) @ right.mT).float()
    for given, vectors in ((matrix, left @ right.mT), (matrix.mT.contiguous(), right @ left.mT)):
        (found,) = by_kernel([given], coefficients, margin, dtype, 2)
        found_values = torch.linalg.svdvals(found.double())
        assert low < found_values.min().item() < found_values.max().item() < high
        assert torch.cosine_similarity(found.double().flatten(), vectors.flatten(), dim=0) > 0.98
    unchanged = torch.linalg.svdvals(matrix / matrix.norm())
    assert unchanged.min() < 0.01


@dtypes
def test_what_must_not_matter_changes_no_bit(dtype: torch.dtype) -> None:
    """Company, number of cores, a power of two, the transpose; entries whose squares sum up exactly."""
    matrices = [random(*shape, dtype=torch.float32, seed=7).sign() for shape in ((130, 70), (70, 130), (130, 70))]
    matrices[2] = matrices[2] * torch.tensor([1.0, 2.0]).repeat(35)

    def directions(given: list[Tensor], lnc: int = 1) -> list[Tensor]:
        return by_kernel(given, QUINTIC, QUINTIC_MARGIN, dtype, lnc)

    found = directions(matrices)
    assert not torch.equal(found[0], found[2])
    for other in (
        directions(matrices, lnc=2),
        [directions([matrix])[0] for matrix in matrices],
        directions([4.0 * matrix for matrix in matrices]),
        [one.mT for one in directions([matrix.mT for matrix in matrices])],
    ):
        assert all(torch.equal(one, two) for one, two in zip(found, other, strict=True))


def test_a_matrix_of_zeros_stays_one() -> None:
    found = by_kernel([torch.zeros(5, 9), torch.ones(5, 9)], QUINTIC, QUINTIC_MARGIN, torch.bfloat16, 1)
    assert torch.equal(found[0], torch.zeros(5, 9))
    assert found[1].min() > 0.0


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((4608, 1152), torch.float32), ((4608, 1152), torch.bfloat16), ((1024, 4096), torch.float32)],
)
def test_the_largest_matrices_of_the_contest_fit(shape: tuple[int, int], dtype: torch.dtype) -> None:
    """Of the direction its product with ones is compared: the sum of each row, whose errors are as random as it is."""
    matrix, first, ones = random(*shape, dtype=torch.float32), QUINTIC[:1], torch.ones(shape[1]).double()
    with accounting() as accounts:
        (found,) = by_kernel([matrix], first, QUINTIC_MARGIN, dtype, 1)
    (a, b, c), x = first[0], matrix.double() / (matrix.double().norm() + NORM_EPS)
    once = x @ (x.mT @ (x @ ones))  # X X^T X 1
    rest, mine = b * once + c * (x @ (x.mT @ once)), a * (x @ ones)
    expected, other = rest + mine, rest + 1.06 * mine
    bound = 4 * torch.finfo(dtype).eps * expected.norm().item()
    assert (found.double() @ ones - expected).norm().item() <= bound
    assert (found.double() @ ones - other).norm().item() > bound
    (account,) = accounts
    assert account.sbuf_peak <= sbuf_bytes(*shape, dtype.itemsize) <= 212_984


def test_every_matrix_of_a_width_of_the_contest_fits_and_what_does_not_is_refused_by_name() -> None:
    for width in range(512, 1153, 64):
        for other in range(64, 4 * width + 1, 64):
            assert sbuf_bytes(width, other, 4) <= 212_984, other
            assert sbuf_bytes(width, other, 2) <= 212_984, other
    for columns, dtype in ((1408, torch.float32), (8192, torch.bfloat16)):
        with pytest.raises(AssertionError, match=rf"newton_schulz: a matrix 1408 x {columns} needs .* bytes"):
            by_kernel([torch.ones(1408, columns)], QUINTIC[:1], QUINTIC_MARGIN, dtype, 1)
