"""The kernels that work element by element on flat tensors, in place: the AdamW step and the moving average."""

from __future__ import annotations

from typing import Any

import nki
import pytest
import torch
from torch import Tensor, nn

from parity_tests.kernel_checks import assert_close, cores, neuron, random
from recipe.adamw import AdamW, FlatAdamW
from recipe.kernels.adamw import SMALLEST_EPS, WIDEST, adamw_reference, adamw_scalars, nki_adamw
from recipe.kernels.tiling import element_tiles
from recipe.kernels.weight_average import NkiWeightAverage, TorchWeightAverage

BETAS = (0.8, 0.95)
EPS = 1e-10
RATES = [(0.3, 0.1), (0.02, 0.0)]
LENGTHS = [1, 2, 127, 129, 255, 257, 128 * 7 + 5, 2 * 128 * WIDEST + 128 * 3 + 1]


def given(length: int, state: torch.dtype) -> list[Tensor]:
    """Parameter, gradient, mean, square; gradients of all sizes, some zero where the state is zero, too."""
    size = 10.0 ** torch.linspace(-20, 3, length)[torch.randperm(length, generator=torch.Generator().manual_seed(9))]
    parameter, gradient, mean, square = (random(length, dtype=torch.float32, seed=seed) for seed in range(4))
    gradient, mean, square = gradient * size, mean * size, square.square() * size**2
    if length > 100:
        gradient[7:20] = 0.0
        mean[7:20] = 0.0
        square[7:20] = 0.0
    return [parameter, gradient, mean.to(state), square.to(state)]


def expected64(tensors: list[Tensor], rate: float, decay: float, updates: int) -> tuple[list[Tensor], Tensor]:
    """Parameter, mean and square after the step, in fp64, and the size of the parameter's step."""
    parameter, gradient, mean, square = (tensor.double() for tensor in tensors)
    mean = BETAS[0] * mean + (1 - BETAS[0]) * gradient
    square = BETAS[1] * square + (1 - BETAS[1]) * gradient**2
    spread = (square / (1 - BETAS[1] ** updates)).sqrt() + EPS
    step = rate / (1 - BETAS[0] ** updates) * mean / spread
    return [(1 - rate * decay) * parameter - step, mean, square], step.abs()


@cores
@pytest.mark.parametrize("state", [torch.float32, torch.bfloat16], ids=["fp32 state", "bf16 state"])
def test_adamw_step(state: torch.dtype, lnc: int) -> None:
    for length in LENGTHS:
        check_step(length, state, lnc)


def check_step(length: int, state: torch.dtype, lnc: int) -> None:
    """One step in place, in two segments with rates of their own, against fp64."""
    tensors = given(length, state)
    on_device = neuron(*(tensor.clone() for tensor in tensors))
    places = [tensor.data_ptr() for tensor in on_device]
    cut = length // 3
    segments = ((0, cut), (cut, length)) if cut else ((0, length),)
    rates = RATES[: len(segments)]
    nki_adamw(*on_device, segments, adamw_scalars(rates, BETAS, 3), BETAS, EPS, lnc)
    assert [tensor.data_ptr() for tensor in on_device] == places
    assert torch.equal(on_device[1].cpu(), tensors[1])
    for (first, end), (rate, decay) in zip(segments, rates, strict=True):
        part = [tensor[first:end] for tensor in tensors]
        wanted, step = expected64(part, rate, decay, 3)
        sums = [part[0].double().abs() + step, part[2].double().abs() + part[1].double().abs(), wanted[2]]
        for index, name in enumerate(("parameter", "mean", "square")):
            found = on_device[(0, 2, 3)[index]][first:end]
            # What lies below fp32's smallest normal number is lost.
            assert_close(found, wanted[index], f"{name} of {length}", sums[index] + 1e-34)
        other, _ = expected64(part, rate * 1.01, decay, 3)
        with pytest.raises(AssertionError, match="beyond the tolerance"):
            assert_close(on_device[0][first:end], other[0], "control", sums[0])


def test_the_torch_step_is_the_definition() -> None:
    tensors = given(300, torch.float32)
    (wanted, _, _), step = expected64(tensors, 0.3, 0.1, 3)
    adamw_reference(*tensors, updates=3, lr=0.3, decay=0.1, betas=BETAS, eps=EPS)
    assert_close(tensors[0], wanted, "parameter", tensors[0].double().abs() + 2 * step)


def test_the_optimizer_updates_like_the_one_of_torch_operators_and_compiles_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Several tensors and groups, rates that change: all that the kernel is compiled for stays the same."""
    compiled: list[dict[str, Any]] = []
    call = nki.Kernel.__call__

    def noted(kernel: Any, *args: Any, **named: Any) -> Any:
        compiled.append({name: value for name, value in named.items() if not isinstance(value, Tensor)})
        return call(kernel, *args, **named)

    monkeypatch.setattr(nki.Kernel, "__call__", noted)
    shapes = [(40, 8), (8,), (8,), (5, 3)]
    sides = []
    for _ in range(2):
        parameters = [nn.Parameter(random(*shape, dtype=torch.float32).to("neuron")) for shape in shapes]
        groups: list[dict[str, Any]] = [
            {"params": parameters[:1], "lr": 0.3},
            {"params": parameters[1:3], "lr": 0.01, "weight_decay": 0.0},
            {"params": parameters[3:], "lr": 0.1},
        ]
        sides.append((parameters, groups, {id(parameter) for parameter in parameters[:3]}))
    flat = FlatAdamW(sides[0][1], BETAS, 0.1, sides[0][2], torch.float32, lnc=2)
    plain = AdamW(sides[1][1], BETAS, 0.1, sides[1][2])
    for update in range(3):
        for (parameters, _, _), optimizer in zip(sides, (flat, plain), strict=True):
            for seed, parameter in enumerate(parameters):
                parameter.grad = random(*parameter.shape, dtype=torch.float32, seed=10 * update + seed).to("neuron")
            for group in optimizer.param_groups:
                group["lr"] *= 0.7
            optimizer.step()
    for one, other, shape in zip(sides[0][0], sides[1][0], shapes, strict=True):
        assert torch.allclose(one.cpu(), other.cpu(), atol=1e-6)
        assert one.shape == torch.Size(shape)
    assert not torch.allclose(sides[0][0][0].cpu(), random(40, 8, dtype=torch.float32), atol=1e-2)
    assert torch.equal(sides[0][0][3].cpu(), random(5, 3, dtype=torch.float32))  # another rank's
    assert len(compiled) == 3
    assert compiled[0] == compiled[1] == compiled[2]
    assert compiled[0]["segments"] == ((0, 320), (320, 336))


def test_an_epsilon_that_the_table_of_the_square_root_would_hide_is_refused() -> None:
    tensors = neuron(*given(4, torch.float32))
    with pytest.raises(AssertionError, match="adamw_step: eps = 1e-12, must be at least"):
        nki_adamw(*tensors, ((0, 4),), adamw_scalars(RATES[:1], BETAS, 1), BETAS, 1e-12, 1)
    assert SMALLEST_EPS < EPS


@cores
def test_moving_average(lnc: int) -> None:
    for length in LENGTHS:
        check_average(length, lnc)


def check_average(length: int, lnc: int) -> None:
    """One step in place by the kernel and by torch, against fp64."""
    average, value = (random(length, dtype=torch.float32, seed=seed) for seed in (1, 2))
    device_average, device_value = neuron(average.clone(), value)
    NkiWeightAverage(lnc)(device_average, device_value, 0.3)
    expected = 0.7 * average.double() + 0.3 * value.double()
    sums = average.double().abs() + value.double().abs()
    assert_close(device_average, expected, str(length), sums)
    with pytest.raises(AssertionError, match="beyond the tolerance"):
        assert_close(device_average, expected + 1e-3 * sums, "control", sums)
    TorchWeightAverage()(average, value, 0.3)
    assert_close(average, expected, str(length), sums)


@pytest.mark.parametrize("lnc", [1, 2])
@pytest.mark.parametrize("widest", [1, 3, 2048])
@pytest.mark.parametrize("total", [1, 2, 127, 128, 129, 255, 256, 257, 1000, 4097])
def test_element_tiles_cover_every_element_once(total: int, widest: int, lnc: int) -> None:
    per_core = [element_tiles(total, widest, core, lnc) for core in range(lnc)]
    seen = [i for tiles in per_core for first, rows, width in tiles for i in range(first, first + rows * width)]
    assert sorted(seen) == list(range(total))
    assert all(1 <= rows <= 128 and 1 <= width <= max(widest, 128) for tiles in per_core for _, rows, width in tiles)
    if total % (128 * lnc) != 1:
        assert len({len(tiles) for tiles in per_core}) == 1
