"""The n-gram mix on NKI, and the table that it takes."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from parity_tests.kernel_checks import assert_close, check_slope, cores, dtypes, gradients, neuron, random
from parity_tests.recipe_samples import on_cpu
from recipe.checkpoint import model_config
from recipe.kernels.ngram_mix import NgramMixFunction, NkiNgramMix, TorchNgramMix
from recipe.kernels.softcap_cross_entropy import softcap
from recipe.model import NgramGPT, make_model
from recipe.ngram import MAX_CONTEXTS, MULTIPLIER, contexts_of
from recipe.ngram_counts import SMOOTHING, NgramCounts, smoothed


@cores
@dtypes
@pytest.mark.parametrize(
    ("shape", "contexts"), [((1, 1), 1), ((2, 3, 50), 4), ((127, 64), 300), ((129, 2049), 7), ((300, 40), 3)]
)
def test_ngram_mix(shape: tuple[int, ...], contexts: int, dtype: torch.dtype, lnc: int) -> None:
    logits, dy = random(*shape, dtype=dtype, scale=4.0), random(*shape, dtype=dtype, seed=1)
    table = random(contexts, shape[-1], dtype=torch.bfloat16, seed=2)
    chosen = torch.randint(0, contexts, shape[:-1], generator=torch.Generator().manual_seed(3))

    def definition(logits: Tensor, weight: Tensor) -> Tensor:
        return logits + weight * table.double()[chosen]

    weight = torch.tensor([0.7])
    inputs = [logits.double(), weight.double()]
    expected, sums = definition(*inputs), logits.double().abs() + table.double()[chosen].abs()
    dlogits, dweight = gradients(definition, inputs, [dy.double()])
    weight_sums = (dy.double() * table.double()[chosen]).abs().sum().view(1)
    for module in (NkiNgramMix(contexts, shape[-1], lnc).to("neuron"), TorchNgramMix(contexts, shape[-1])):
        assert module.weight.item() == 0.0
        with torch.no_grad():
            module.weight.copy_(weight)
            module.table.copy_(table)
        place = module.weight.device
        leaf = logits.to(place).requires_grad_()
        y = module(leaf, chosen.to(place))
        assert y.dtype == dtype
        assert_close(y, expected, "y", sums)
        with pytest.raises(AssertionError, match="beyond the tolerance"):
            assert_close(y, definition(logits.double(), 1.05 * weight.double() + 0.1), "control", sums)
        y.backward(dy.to(place))
        assert leaf.grad is not None
        assert module.weight.grad is not None
        assert_close(leaf.grad, dlogits, "dlogits")
        assert_close(module.weight.grad, dweight, "dweight", weight_sums)


def test_gradients_are_the_slope() -> None:
    (chosen, table) = neuron(torch.tensor([0, 2, 2]), random(3, 30, dtype=torch.float32))
    check_slope(
        lambda logits, weight: NgramMixFunction.apply(logits, chosen, table, weight, 2),  # type: ignore[no-untyped-call]
        [random(3, 30, dtype=torch.float32, seed=1), torch.tensor([0.5])],
    )


def test_the_table_of_the_contest_fits() -> None:
    """Vocabulary 8192."""
    module = NkiNgramMix(64, 8192, 1).to("neuron")
    logits, chosen = neuron(random(130, 8192, dtype=torch.float32), torch.zeros(130, dtype=torch.int64))
    module(logits, chosen).sum().backward()
    assert module.weight.grad is not None


def test_a_context_is_made_of_the_last_tokens_alone() -> None:
    tokens = torch.randint(0, 64, (2, 12), generator=torch.Generator().manual_seed(0))
    found = contexts_of(tokens, 3, 997)
    assert int(found.min()) >= 0
    assert int(found.max()) < 997
    changed = tokens.clone()
    changed[0, 5] = (changed[0, 5] + 1) % 64
    differs = (contexts_of(changed, 3, 997) != found).nonzero().tolist()
    assert differs == [[0, 5], [0, 6]]
    assert torch.equal(contexts_of(tokens[:, 4:], 3, 997)[:, 1:], found[:, 5:])
    pairs = {(a, b): row for a, b, row in zip(tokens[0], tokens[0, 1:], found[0, 1:], strict=False)}
    assert len({int(row) for row in pairs.values()}) > 8
    bigram = contexts_of(tokens, 2, 997)
    assert torch.equal(bigram, tokens.int())
    largest = contexts_of(torch.full((1, 9), MAX_CONTEXTS - 1), 9, MAX_CONTEXTS)  # no sum beyond 32 bits
    assert 0 <= int(largest.min()) <= int(largest.max()) < MAX_CONTEXTS
    assert (MAX_CONTEXTS - 1) * MULTIPLIER + MAX_CONTEXTS < 2**31


def test_the_table_tells_what_counts_say() -> None:
    counts = torch.zeros(3, 4)
    counts[0, 1], counts[1, 2] = 96.0, 2.0
    table = smoothed(counts)
    share = (counts.sum(0) + 1) / (counts.sum(0) + 1).sum()
    assert torch.equal(table[2], torch.zeros(4))
    assert table[0, 1].item() == pytest.approx(math.log((96 + SMOOTHING * share[1]) / (96 + SMOOTHING) / share[1]))
    assert table[1, 2] > table[0, 1] > 0.0 > table[0, 2]
    assert ((table + share.log()).exp().sum(1) - 1.0).abs().max() < 1e-5  # each row is a distribution


def test_the_table_is_made_of_what_passed_before() -> None:
    config = on_cpu(ngram="torch", ngram_order=2, ngram_contexts=64)
    model = make_model(config, torch.float32)
    assert isinstance(model, NgramGPT)
    batches = [(torch.full((1, 4), token), torch.full((1, 4), token + 1), {"epoch": 1}) for token in (5, 9, 20)]
    counts = NgramCounts(config)
    passing = counts.counting(iter(batches))
    assert next(passing) is not next(passing)
    counts.fill(config, model)
    assert next(passing)[0] is batches[2][0]
    assert model.mix.table[5].argmax() == 6
    assert model.mix.table[9].argmax() == 10
    assert not model.mix.table[20].any()


def test_the_table_moves_the_logits_once_it_has_a_weight_and_comes_with_the_checkpoint() -> None:
    config = on_cpu(ngram="torch", ngram_order=2, ngram_contexts=64)
    model, plain, other = make_model(config, torch.float32), make_model(on_cpu(), torch.float32), on_cpu(ngram="torch")
    assert isinstance(model, NgramGPT)
    plain.load_state_dict({k: v for k, v in model.state_dict().items() if not k.startswith("mix.")})
    model.mix.table.copy_(random(64, 64, dtype=torch.float32))
    tokens = torch.randint(0, 64, (2, 9), generator=torch.Generator().manual_seed(0))
    assert torch.equal(model(tokens), plain(tokens))
    with torch.no_grad():
        model.mix.weight.fill_(0.5)
    capped = torch.atanh(plain(tokens) / config.logit_softcap) * config.logit_softcap  # without the cap
    mixed = capped + 0.5 * model.mix.table[tokens].float()
    assert torch.allclose(model(tokens), softcap(mixed, config.logit_softcap), atol=1e-4)
    assert "mix.table" in model.state_dict()
    assert model_config(config) != model_config(other)
    assert model_config(config).keys() > model_config(on_cpu()).keys()
