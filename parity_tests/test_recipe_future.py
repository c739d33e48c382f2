"""Multi-token prediction: it changes gradients, never what is printed or scored, and its parameters are saved."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from parity_tests.recipe_samples import on_cpu
from recipe.checkpoint import model_config
from recipe.config import Config
from recipe.model import GPT, FutureGPT, make_model


def filled(config: Config) -> GPT:
    """The same values for the parameters that two configurations share."""
    model = make_model(config, torch.float32)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for _, parameter in sorted(model.named_parameters(), key=lambda pair: ("ahead" in pair[0], pair[0])):
            parameter.copy_(0.2 * torch.randn(parameter.shape, generator=generator) + (parameter.dim() == 1))
    return model


def batch(seed: int = 0) -> tuple[Tensor, Tensor]:
    rows = torch.randint(0, 64, (2, 13), generator=torch.Generator().manual_seed(seed))
    return rows[:, :-1], rows[:, 1:]


@pytest.mark.parametrize("loss", ["torch", "chunked"])
def test_the_gradient_is_that_of_all_losses_and_the_value_that_of_the_next_token(loss: str) -> None:
    x, y = batch()
    knobs: dict[str, Any] = {"loss": loss, "future_tokens": 2, "future_weight": 0.5}
    model = filled(on_cpu(**knobs))
    assert isinstance(model, FutureGPT)
    value = model(x, y)
    gradients = torch.autograd.grad(value, list(model.parameters()))

    stream = model.stream(x)
    losses = []
    for offset in range(3):
        states = stream if offset == 0 else model.ahead[offset - 1](stream)
        logits = 15.0 * torch.tanh(model.head(model.norm(states))[:, : 12 - offset] / 15.0)
        losses.append(F.cross_entropy(logits.flatten(0, 1), y[:, offset:].flatten()))
    assert value.item() == pytest.approx(losses[0].item(), rel=1e-6)
    expected = torch.autograd.grad(losses[0] + 0.25 * (losses[1] + losses[2]), list(model.parameters()))
    for name, found, wanted in zip(dict(model.named_parameters()), gradients, expected, strict=True):
        assert torch.allclose(found, wanted, atol=1e-5), name
    plain = filled(on_cpu(loss=loss))
    assert plain(x, y).item() == value.item()
    (other,) = torch.autograd.grad(plain(x, y), [plain.head.weight])
    assert not torch.allclose(other, gradients[list(dict(model.named_parameters())).index("head.weight")], atol=1e-4)


def test_what_is_scored_does_not_know_of_it() -> None:
    x, _ = batch()
    plain, future = filled(on_cpu()), filled(on_cpu(future_tokens=2))
    assert torch.equal(future(x), plain(x))
    assert torch.equal(future(x[:, :1]), plain(x[:, :1]))
    with torch.no_grad():
        for name, parameter in future.named_parameters():
            if "ahead" in name:
                parameter.fill_(float("nan"))
    assert torch.equal(future(x), plain(x))


def test_its_parameters_start_as_the_stream_are_saved_and_have_an_optimizer() -> None:
    config = on_cpu(future_tokens=2, experts=4, expert_width=8)
    model = make_model(config, torch.float32)
    model.initialize()
    assert isinstance(model, FutureGPT)
    x = torch.randn(1, 4, 32)
    assert torch.equal(model.ahead[0](x), x)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    matrices = {names[id(parameter)] for parameter in model.matrices() if "ahead" in names[id(parameter)]}
    assert matrices == {"ahead.0.turn.weight", "ahead.1.turn.weight"}
    assert {names[id(parameter)] for parameter in model.gains()} >= {"ahead.0.norm.weight", "ahead.1.norm.weight"}
    assert model_config(config) != model_config(on_cpu(future_tokens=1, experts=4, expert_width=8))
    with pytest.raises(ValueError, match="'future_tokens' must be 0 where 'ngram' is not 'none'"):
        on_cpu(future_tokens=1, ngram="torch")
