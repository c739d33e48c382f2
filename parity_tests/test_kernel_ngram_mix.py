"""The n-gram mix: of losses on NKI and by torch, and of scores."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from parity_tests.kernel_checks import assert_close, check_slope, cores, neuron, random
from recipe.kernels.ngram_mix import NgramMixFunction, NgramTable, NkiNgramMix, TorchNgramMix

WEIGHT = torch.tensor([0.7, -1.5])  # logarithms


@dataclass
class Sample:
    """Positions and their rows; every second target is among its row's followers."""

    row: Tensor
    level: Tensor
    targets: Tensor
    follower: Tensor
    probability: Tensor


def sample(shape: tuple[int, ...], rows: int, followers: int, vocabulary: int) -> Sample:
    generator = torch.Generator().manual_seed(4)

    def numbers(low: int, high: int) -> Tensor:
        return torch.randint(low, high, shape, generator=generator, dtype=torch.int32)

    follower = torch.stack([torch.randperm(vocabulary, generator=generator)[:followers] for _ in range(rows)]).int()
    probability = random(rows, followers + 1, dtype=torch.float32, seed=2).softmax(1)[:, 1:].bfloat16()
    row, level, targets = numbers(0, rows), numbers(-1, 2), numbers(0, vocabulary)
    level.view(-1)[0] = 1
    known = torch.arange(targets.numel()).view(shape) % 2 == 0
    targets = torch.where(known, follower[row.long(), 0], targets)
    return Sample(row, level, targets, follower, probability)


def fill(module: NgramTable, given: Sample, weight: Tensor = WEIGHT) -> NgramTable:
    with torch.no_grad():
        module.follower.copy_(given.follower.repeat(2, 1))
        module.probability.copy_(given.probability.repeat(2, 1))
        module.weight.copy_(weight)
    return module


def weights_of(given: Sample, weight: Tensor) -> Tensor:
    """w of each position, in fp64."""
    return torch.cat((weight.double().exp(), torch.zeros(1, dtype=torch.float64)))[given.level.long()]


def named_by(given: Sample) -> tuple[Tensor, Tensor]:
    """p(target) and m of each position, in fp64."""
    chosen = given.probability.double()[given.row.long()]
    hit = given.follower[given.row.long()] == given.targets.unsqueeze(-1)
    return (chosen * hit).sum(-1), chosen.sum(-1)


@cores
@pytest.mark.parametrize(
    ("shape", "rows", "followers", "vocabulary"),
    [((1,), 1, 1, 2), ((2, 3), 4, 5, 50), ((127,), 300, 8, 64), ((257,), 6, 16, 33)],
)
def test_ngram_mix(shape: tuple[int, ...], rows: int, followers: int, vocabulary: int, lnc: int) -> None:
    given = sample(shape, rows, followers, vocabulary)
    losses = 0.01 + random(*shape, dtype=torch.float32, scale=4.0).abs()
    p, mass = named_by(given)

    def definition(losses: Tensor, weight: Tensor) -> Tensor:
        w = weights_of(given, weight)
        return -(((-losses).exp() + w * p) / (1.0 + w * mass)).log().mean()

    inputs = [losses.double().requires_grad_(), WEIGHT.double().requires_grad_()]
    expected = definition(*inputs)
    expected.backward()
    largest = losses.double().abs().max()
    for module in (NkiNgramMix(2, rows, followers, lnc).to("neuron"), TorchNgramMix(2, rows, followers)):
        assert module.weight.tolist() == [0.0, 0.0]
        place = module.weight.device
        fill(module, given)
        leaf = losses.to(place).requires_grad_()
        where = (each.to(place) for each in (given.targets, given.row, given.level))
        loss = module.losses(leaf, *where).mean()
        assert loss.dtype == torch.float32
        assert_close(loss, expected.detach(), "loss", largest)
        with pytest.raises(AssertionError, match="beyond the tolerance"):
            assert_close(loss, definition(losses.double(), WEIGHT.double() + 0.1).detach(), "control", largest)
        loss.backward()
        assert leaf.grad is not None
        assert module.weight.grad is not None
        assert inputs[0].grad is not None
        assert inputs[1].grad is not None
        assert_close(leaf.grad, inputs[0].grad, "dlosses")
        assert_close(module.weight.grad, inputs[1].grad, "dweight", torch.ones(2))


def test_gradients_are_the_slope() -> None:
    given = sample((6,), 3, 4, 30)
    table = neuron(given.targets, given.row, given.follower, given.probability)

    def mixed(losses: Tensor, factor: Tensor) -> Tensor:
        targets, row, follower, probability = table
        found: Tensor = NgramMixFunction.apply(losses, targets, row, factor, follower, probability, 2)  # type: ignore[no-untyped-call]
        return found

    losses = 1.0 + random(6, dtype=torch.float32).abs()
    check_slope(mixed, [losses, 0.5 + random(6, dtype=torch.float32, seed=1).abs()])


def test_a_loss_that_no_row_touches_is_left_bit_for_bit() -> None:
    given = sample((130,), 4, 3, 40)
    given.level = torch.arange(130).int() % 2 - 1
    losses = random(130, dtype=torch.float32).abs()
    module = fill(NkiNgramMix(2, 4, 3, 1).to("neuron"), given)
    factor = module.factor(given.level.to("neuron"))
    given_table = (module.follower, module.probability)
    found = NgramMixFunction.apply(  # type: ignore[no-untyped-call]
        *neuron(losses, given.targets, given.row), factor, *given_table, 1
    )
    changed = found.detach().cpu() != losses
    assert not changed[given.level == -1].any()
    assert changed[given.level == 0].all()


@pytest.mark.parametrize("losses", [0.0, 1e-6, 40.0, 120.0])
def test_the_mix_is_finite_at_losses_that_exp_cannot_hold(losses: float) -> None:
    given = sample((8,), 4, 3, 40)
    p, mass = named_by(given)
    w = weights_of(given, WEIGHT)
    expected = -(torch.exp(torch.full((8,), -losses, dtype=torch.float64)) + w * p).log() + (w * mass).log1p()
    for module in (NkiNgramMix(2, 4, 3, 2).to("neuron"), TorchNgramMix(2, 4, 3)):
        place = fill(module, given).weight.device
        leaf = torch.full((8,), losses, device=place, requires_grad=True)
        where = (each.to(place) for each in (given.targets, given.row, given.level))
        loss = module.losses(leaf, *where).mean()
        loss.backward()
        assert loss.item() == pytest.approx(expected.mean().item(), rel=1e-5, abs=1e-6)
        assert leaf.grad is not None
        assert module.weight.grad is not None
        assert module.weight.grad.isfinite().all()
        assert leaf.grad.isfinite().all()


@pytest.mark.parametrize("cap", [0.0, 15.0])
def test_scores_have_the_mix_as_their_softmax_and_training_has_the_loss_of_that(cap: float) -> None:
    given = sample((2, 30), 5, 4, 50)
    x, head = random(2, 30, 8, dtype=torch.float32), random(50, 8, dtype=torch.float32, seed=1)
    logits = x @ head.mT
    scores = cap * torch.tanh(logits / cap) if cap else logits
    table = torch.zeros(5, 50, dtype=torch.float64).scatter_(1, given.follower.long(), given.probability.double())
    p, w = table[given.row.long()], weights_of(given, WEIGHT).unsqueeze(-1)
    q = scores.double().softmax(-1)
    expected = (q + w * p) / (1.0 + w * p.sum(-1, keepdim=True))
    module = fill(TorchNgramMix(2, 5, 4), given)
    found = module(scores, given.row, given.level)
    assert found.dtype == torch.float32
    assert_close(found.softmax(-1), expected, "mix")
    named = torch.zeros(2, 30, 50, dtype=torch.bool).scatter_(-1, given.follower[given.row.long()].long(), True)
    assert torch.equal(found == scores, ~(named & (given.level >= 0).unsqueeze(-1)))
    assert isinstance(module, TorchNgramMix)
    alone = -scores.log_softmax(-1).gather(-1, given.targets.long().unsqueeze(-1)).squeeze(-1)
    loss = module.losses(alone, given.targets, given.row, given.level).mean()
    wanted = -expected.gather(-1, given.targets.long().unsqueeze(-1)).log().mean()
    assert_close(loss, wanted, "loss", scores.double().abs().max())
    assert abs(loss.item() - alone.mean().item()) > 0.1


def test_the_table_of_the_contest_fits() -> None:
    """Six orders of 2^16 contexts with 16 followers."""
    module = NkiNgramMix(6, 2**16, 16, 2).to("neuron")
    last = torch.full((300,), 6 * 2**16 - 1, dtype=torch.int32)
    losses = torch.ones(300, device="neuron")
    module.losses(losses, *neuron(last % 8192, last, torch.zeros(300, dtype=torch.int32))).sum().backward()
    assert module.weight.grad is not None
