"""Experts: what is scored is a token's own, what is trained drops tokens and balances, and both are the same sum."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from parity_tests.recipe_samples import on_cpu
from recipe.config import Config
from recipe.model import RoutedGPT, make_model
from recipe.moe import Experts, active_parameters, balance_loss, slots_of

MANY: dict[str, Any] = {"experts": 4, "expert_width": 16}


def filled(config: Config, seed: int = 0) -> RoutedGPT:
    """A model whose experts differ and whose results are not zero."""
    torch.manual_seed(seed)
    model = make_model(config, torch.float32)
    model.initialize()
    assert isinstance(model, RoutedGPT)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape))
    return model


def layer(**knobs: Any) -> Experts:
    torch.manual_seed(0)
    experts = Experts(on_cpu(**(MANY | knobs)))
    experts.initialize()
    with torch.no_grad():
        for parameter in experts.experts.parameters():
            parameter.copy_(0.2 * torch.randn(parameter.shape))
    return experts


def tokens(batch: int, length: int, seed: int = 0) -> Tensor:
    return torch.randint(0, 64, (batch, length), generator=torch.Generator().manual_seed(seed))


def spelled_out(experts: Experts, x: Tensor) -> Tensor:
    """The definition, token by token: [N, width] -> [N, width]."""
    found = []
    for row in x:
        probabilities = (experts.router.weight @ row).softmax(0)
        chosen = probabilities.argsort(descending=True)[: experts.choices].tolist()
        total = sum(probabilities[i] for i in chosen)
        found.append(sum(probabilities[i] / total * experts.experts[i](row) for i in chosen))
    return torch.stack(found)


@pytest.mark.parametrize("choices", [1, 2, 3])
def test_both_ways_are_the_sum_over_chosen_experts_where_nothing_is_dropped(choices: int) -> None:
    experts = layer(experts_per_token=choices, capacity_factor=4.0)
    x = torch.randn(2, 7, 32)
    expected = spelled_out(experts, x.flatten(0, 1)).view(x.shape)
    assert torch.allclose(experts.by_all(x), expected, atol=1e-5)
    assert torch.allclose(experts.within_capacity(x)[0], expected, atol=1e-5)
    assert not torch.allclose(experts.by_all(x.flip(-1)), expected, atol=1e-2)


def test_an_expert_takes_the_tokens_that_come_first_and_no_more_than_its_capacity() -> None:
    chosen = torch.tensor([2, 0, 2, 2, 1, 0])
    assert slots_of(chosen, experts=3, capacity=2).tolist() == [4, 0, 5, 6, 2, 1]
    assert slots_of(chosen, experts=3, capacity=3).tolist() == [6, 0, 7, 8, 3, 1]


def test_a_token_that_comes_too_late_goes_without_its_expert() -> None:
    """All tokens alike: both experts fill up, and what is left over gets nothing."""
    experts = layer(capacity_factor=0.5)  # of 8 tokens with 2 choices: 2 for each of 4 experts
    x = torch.randn(1, 1, 32).expand(1, 8, 32)
    y, _ = experts.within_capacity(x)
    assert torch.allclose(y[0, :2], experts.by_all(x)[0, :2], atol=1e-6)
    assert torch.equal(y[0, 2:], torch.zeros(6, 32))


def test_the_balance_loss_is_one_where_experts_are_chosen_equally_often_and_more_elsewhere() -> None:
    even = torch.tensor([[0.4, 0.4, 0.1, 0.1], [0.1, 0.1, 0.4, 0.4]])
    assert balance_loss(even, torch.tensor([[0, 1], [2, 3]])).item() == pytest.approx(1.0)
    assert balance_loss(even[:1], torch.tensor([[0, 1]])).item() == pytest.approx(4 * (0.5 * 0.4 + 0.5 * 0.4))


def test_the_loss_reports_cross_entropy_and_its_gradient_balances() -> None:
    x, y = tokens(2, 16), tokens(2, 16, seed=1)
    plain, weighted = (filled(on_cpu(**MANY, balance_weight=weight)) for weight in (0.0, 1.0))
    losses = [model(x, y) for model in (plain, weighted)]
    assert losses[0].item() == losses[1].item()
    for loss in losses:
        (loss / 2).backward()  # as with two micro-batches: both parts are scaled
    around = {**weighted.around(x), "balance": torch.zeros(())}
    weighted.blocks(weighted.embed(x), around)
    (expected,) = torch.autograd.grad(around["balance"] / 2, [weighted.blocks[0].mlp.router.weight])
    found = weighted.blocks[0].mlp.router.weight.grad - plain.blocks[0].mlp.router.weight.grad
    assert expected.norm() > 1e-4
    assert torch.allclose(found, expected, atol=1e-6)


def test_what_is_scored_is_a_tokens_own() -> None:
    """Neither neighbours nor later tokens nor the length change a row; in the loss they do."""
    model = filled(on_cpu(**MANY, capacity_factor=0.5))
    x = tokens(3, 16)
    together = model(x)
    assert torch.allclose(model(x[1:2, :9]), together[1:2, :9], atol=1e-5)
    changed = x.clone()
    changed[:, 9:] = (changed[:, 9:] + 1) % 64
    assert torch.equal(model(changed)[:, :9], together[:, :9])
    assert torch.equal(model.train()(x), model.eval()(x))
    y = tokens(3, 16, seed=1)
    expected = torch.nn.functional.cross_entropy(together.flatten(0, 1), y.flatten())
    assert not torch.allclose(model(x, y), expected, atol=1e-4)
    whole = filled(on_cpu(**MANY, capacity_factor=2.0))
    assert torch.allclose(whole(x, y), expected, atol=1e-5)


def test_active_parameters_are_all_but_those_of_experts_not_chosen() -> None:
    sizes: dict[str, Any] = {"width": 32, "depth": 2, "vocab_size": 64, "experts": 8, "expert_width": 16}
    with torch.device("meta"):
        model = make_model(on_cpu(**sizes, activation="swiglu"), torch.float32)
    expert = 3 * 32 * 16
    around = 2 * 64 * 32 + 2 * (4 * 32 * 32 + 8 * 32 + 2 * 32) + 32  # tables; attention, router and norms; last norm
    assert sum(parameter.numel() for parameter in model.parameters()) == around + 2 * 8 * expert
    assert active_parameters(model) == around + 2 * 2 * expert


def test_no_shape_depends_on_what_the_router_chose() -> None:
    """On the meta device tensors have shapes and no values: it refuses whatever looks at a value."""
    model = filled(on_cpu(**MANY)).to("meta")
    x = tokens(2, 16).to("meta")
    loss = model(x, x)
    loss.backward()
    assert loss.shape == ()
    assert model(x).shape == (2, 16, 64)
    with pytest.raises((RuntimeError, NotImplementedError), match="meta"):
        x[x > 1]
