"""The n-gram mix on NKI."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from parity_tests.kernel_checks import assert_close, check_slope, cores, dtypes, gradients, neuron, random
from recipe.kernels.ngram_mix import NgramMixFunction, NgramTable, NkiNgramMix, TorchNgramMix


def different(rows: int, followers: int, vocabulary: int) -> Tensor:
    """Rows of followers that all differ."""
    generator = torch.Generator().manual_seed(4)
    return torch.stack([torch.randperm(vocabulary, generator=generator)[:followers] for _ in range(rows)]).int()


def set_table(module: NgramTable, follower: Tensor, gain: Tensor, weight: Tensor) -> None:
    with torch.no_grad():
        module.follower.copy_(follower)
        module.gain.copy_(gain)
        module.weight.copy_(weight)


@cores
@dtypes
@pytest.mark.parametrize(
    ("shape", "rows", "followers"), [((1, 1), 1, 1), ((2, 3, 50), 4, 5), ((127, 64), 300, 8), ((257, 33), 6, 16)]
)
def test_ngram_mix(shape: tuple[int, ...], rows: int, followers: int, dtype: torch.dtype, lnc: int) -> None:
    logits, dy = random(*shape, dtype=dtype, scale=4.0), random(*shape, dtype=dtype, seed=1)
    follower, gain = different(rows, followers, shape[-1]), random(rows, followers, dtype=torch.bfloat16, seed=2)
    generator = torch.Generator().manual_seed(3)
    row = torch.randint(0, rows, shape[:-1], generator=generator, dtype=torch.int32)
    level = torch.randint(-1, 2, shape[:-1], generator=generator, dtype=torch.int32)
    level.view(-1)[0] = 1
    weight = torch.tensor([0.7, -1.5])

    def definition(logits: Tensor, weight: Tensor) -> Tensor:
        table = torch.zeros(rows, shape[-1], dtype=torch.float64).scatter_(1, follower.long(), gain.double())
        factor = torch.cat((weight, torch.zeros(1, dtype=torch.float64)))[level.long()]
        return logits + factor.unsqueeze(-1) * table[row.long()]

    inputs = [logits.double(), weight.double()]
    expected, sums = definition(*inputs), logits.double().abs() + definition(0.0 * inputs[0], inputs[1]).abs()
    dlogits, dweight = gradients(definition, inputs, [dy.double()])
    weight_sums = gradients(definition, inputs, [dy.double().abs()])[1].abs().max() + dy.double().abs().sum()
    for module in (NkiNgramMix(2, rows, followers, lnc).to("neuron"), TorchNgramMix(2, rows, followers)):
        assert module.weight.tolist() == [0.0, 0.0]
        place = module.weight.device
        set_table(module, follower.repeat(2, 1), gain.repeat(2, 1), weight)
        leaf = logits.to(place).requires_grad_()
        y = module(leaf, row.to(place), level.to(place))
        assert y.dtype == dtype
        assert_close(y, expected, "y", sums)
        with pytest.raises(AssertionError, match="beyond the tolerance"):
            assert_close(y, definition(logits.double(), 1.1 * weight.double()), "control", sums)
        y.backward(dy.to(place))
        assert leaf.grad is not None
        assert module.weight.grad is not None
        assert_close(leaf.grad, dlogits, "dlogits")
        assert_close(module.weight.grad, dweight, "dweight", weight_sums)


def test_gradients_are_the_slope() -> None:
    row, follower, gain = neuron(torch.tensor([0, 2, 2]).int(), different(3, 4, 30), random(3, 4, dtype=torch.float32))
    check_slope(
        lambda logits, factor: NgramMixFunction.apply(logits, row, factor, follower, gain, 2),  # type: ignore[no-untyped-call]
        [random(3, 30, dtype=torch.float32, seed=1), random(3, dtype=torch.float32, seed=2)],
    )


def test_what_no_row_names_is_left_bit_for_bit() -> None:
    module = NkiNgramMix(1, 4, 3, 1).to("neuron")
    set_table(module, different(4, 3, 40), torch.ones(4, 3), torch.ones(1))
    logits = random(130, 40, dtype=torch.bfloat16)
    row, level = torch.arange(130).int() % 4, torch.arange(130).int() % 2 - 1
    found = module(*neuron(logits, row, level)).detach().cpu()
    changed = (found != logits).sum(1)
    assert changed[level == -1].tolist() == [0] * 65
    assert changed[level == 0].tolist() == [3] * 65


def test_the_table_of_the_contest_fits() -> None:
    """Vocabulary 8192, six orders of 2^16 contexts with 8 followers."""
    module = NkiNgramMix(6, 2**16, 8, 2).to("neuron")
    last = torch.full((300,), 6 * 2**16 - 1, dtype=torch.int32)
    logits = random(300, 8192, dtype=torch.bfloat16)
    module(*neuron(logits, last, torch.zeros(300, dtype=torch.int32))).sum().backward()
    assert module.weight.grad is not None


def test_a_vocabulary_whose_places_fp32_cannot_hold_is_refused() -> None:
    module = NkiNgramMix(1, 1, 1, 1).to("neuron")
    none = torch.zeros(1, dtype=torch.int32)
    with pytest.raises(Exception, match="ngram_mix_forward: V = 131073, must be at most 131072"):
        module(*neuron(torch.zeros(1, 131073), none, none))
