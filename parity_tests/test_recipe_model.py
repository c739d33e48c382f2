"""The model is a pure, causal function of its tokens, and means the same on torch and on NKI."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from parity_tests.recipe_samples import on_cpu, small
from recipe.config import Config
from recipe.model import GPT, activation_dtype, make_model


def made(config: Config, dtype: torch.dtype = torch.float32) -> GPT:
    """A model whose every parameter matters: zero-initialised ones are filled."""
    torch.manual_seed(0)
    model = make_model(config, dtype)
    model.initialize()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return model.to(config.device)


def tokens(batch: int, length: int, vocab: int = 64, seed: int = 0) -> Tensor:
    return torch.randint(0, vocab, (batch, length), generator=torch.Generator().manual_seed(seed), dtype=torch.int32)


@pytest.mark.parametrize(
    "knobs",
    [{}, {"fused_attention": False}, {"fused_attention": False, "attention_window": 3}, {"conv_taps": 3}],
    ids=["fused", "written out", "window", "convolution"],
)
def test_causal(knobs: dict[str, Any]) -> None:
    model = made(on_cpu(**knobs))
    x = tokens(2, 24)
    changed = x.clone()
    changed[:, 15:] = (changed[:, 15:] + 1) % 64
    before, after = model(x), model(changed)
    assert torch.equal(before[:, :15], after[:, :15])
    assert not torch.equal(before[:, 15:], after[:, 15:])


def test_what_lies_outside_all_windows_is_not_seen() -> None:
    """Two blocks, each of which looks two positions back, see four back; a third one more."""
    x = tokens(1, 24)
    changed = x.clone()
    changed[:, 10] = (changed[:, 10] + 1) % 64
    for depth, reach in ((2, 14), (3, 16)):
        model = made(on_cpu(fused_attention=False, attention_window=3, depth=depth))
        before, after = model(x), model(changed)
        different = [t for t in range(24) if not torch.allclose(before[0, t], after[0, t], atol=1e-6)]
        assert (different[0], different[-1]) == (10, reach)


def test_rows_do_not_see_each_other_and_calls_leave_nothing_behind() -> None:
    model = made(on_cpu()).eval()
    x = tokens(3, 16)
    together = model(x)
    for row in range(3):
        assert torch.allclose(model(x[row : row + 1])[0], together[row], atol=1e-5)
    assert torch.equal(model(x), together)
    assert not torch.allclose(together[0], together[1], atol=1e-2)
    assert torch.equal(x, tokens(3, 16))


def test_training_mode_changes_nothing() -> None:
    model = made(on_cpu())
    x = tokens(2, 16)
    assert torch.equal(model.train()(x), model.eval()(x))


@pytest.mark.parametrize("length", [1, 2, 16, 17, 300])
def test_any_sequence_length(length: int) -> None:
    model = made(on_cpu(seq_len=16)).eval()
    x = tokens(1, 300)
    logits = model(x[:, :length])
    assert logits.shape == (1, length, 64)
    assert logits.dtype == torch.float32
    assert torch.allclose(logits, model(x)[:, :length], atol=1e-4)


def test_logits_stay_below_the_softcap() -> None:
    model = made(on_cpu())
    with torch.no_grad():
        model.head.weight.mul_(1000.0)
    assert 14.9 < model(tokens(1, 8)).abs().max().item() <= 15.0


def test_the_loss_is_the_cross_entropy_of_the_logits() -> None:
    model = made(on_cpu())
    x, y = tokens(2, 16), tokens(2, 16, seed=1).long()
    expected = torch.nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
    assert torch.allclose(model(x, y), expected, atol=1e-6)


def test_attention_written_out_is_the_fused_one() -> None:
    x = tokens(2, 33)
    fused, explicit = made(on_cpu(fused_attention=True)), made(on_cpu(fused_attention=False))
    assert torch.allclose(fused(x), explicit(x), atol=1e-4)


@pytest.mark.parametrize(
    ("operation", "variant"),
    [
        ({"norm": "nki"}, {}),
        ({"rotary": "nki"}, {}),
        ({"attention": "nki"}, {}),
        ({"attention": "nki"}, {"attention_window": 5, "fused_attention": False}),
        ({"conv": "nki"}, {"conv_taps": 3}),
        ({"mlp": "nki"}, {}),
        ({"mlp": "nki"}, {"activation": "swiglu"}),
        ({"mlp": "fused"}, {}),
        ({"mlp": "fused"}, {"activation": "swiglu"}),
        ({"loss": "nki"}, {}),
        ({"loss": "nki"}, {"logit_softcap": 0.0}),
        ({"loss": "fused"}, {}),
        ({"loss": "fused"}, {"logit_softcap": 0.0}),
    ],
    ids=str,
)
def test_each_nki_operation_is_its_torch_one_in_the_whole_model(
    operation: dict[str, str], variant: dict[str, Any]
) -> None:
    """fp32 on the Neuron device: loss and all gradients agree to rounding; a changed gain shows that this can fail."""
    plain = {"norm": "torch", "rotary": "torch", "mlp": "torch", "loss": "torch"}
    sizes = {"vocab_size": 64, "width": 32, "mlp_width": 128, "dtype": "float32", **variant}
    x, y = tokens(2, 19).to("neuron"), tokens(2, 19, seed=1).long().to("neuron")

    def measure(config: Config, gain: float = 1.0) -> tuple[float, list[Tensor]]:
        model = made(config, activation_dtype(config, torch.device("neuron")))
        with torch.no_grad():
            model.norm.weight.mul_(gain)
        loss = model(x, y)
        loss.backward()
        return loss.item(), [p.grad.cpu() for p in model.parameters() if p.grad is not None]

    torch_loss, torch_gradients = measure(small(**plain, **sizes))
    nki_loss, nki_gradients = measure(small(**(plain | operation), **sizes))
    other_loss, _ = measure(small(**(plain | operation), **sizes), gain=1.001)
    assert nki_loss == pytest.approx(torch_loss, rel=1e-5)
    assert other_loss != pytest.approx(torch_loss, rel=1e-5)
    more = ("conv_taps" in variant) + ("activation" in variant)  # parameters of a block
    assert len(nki_gradients) == len(torch_gradients) == 2 * (8 + more) + 3
    for found, expected in zip(nki_gradients, torch_gradients, strict=True):
        assert (found - expected).norm() <= 2e-5 * expected.norm()


@pytest.mark.parametrize("loss", ["torch", "fused"])
def test_every_parameter_has_one_kind(loss: str) -> None:
    """Matrices, tables, head, and what scales single channels, taps of convolutions among them: each parameter once."""
    model = made(small(conv_taps=2, activation="swiglu", mlp="torch", loss=loss, depth=3))
    kinds = [model.matrices(), model.tables(), list(model.head.parameters()), model.gains()]
    assert [len(kind) for kind in kinds] == [3 * 7, 1, 1, 3 * 3 + 1]
    assert sorted(id(p) for kind in kinds for p in kind) == sorted(id(p) for p in model.parameters())
    assert {tuple(p.shape) for p in model.gains()} == {(64,), (2, 64)}


def test_fused_attention_has_no_window() -> None:
    with pytest.raises(ValueError, match="'fused_attention' must be false where 'attention_window' is set"):
        on_cpu(fused_attention=True, attention_window=3)


def test_activations_have_the_dtype_of_the_device() -> None:
    assert activation_dtype(small(), torch.device("neuron")) == torch.bfloat16
    assert activation_dtype(small(dtype="float32"), torch.device("neuron")) == torch.float32
    assert activation_dtype(small(), torch.device("cpu")) == torch.float32


def test_a_new_model_predicts_nothing_and_is_the_same_for_a_seed() -> None:
    def new(seed: int) -> GPT:
        torch.manual_seed(seed)
        model = GPT(on_cpu(), torch.float32)
        model.initialize()
        return model

    assert new(0)(tokens(1, 8)).abs().max().item() < 0.1
    first, again, other = (list(new(seed).parameters()) for seed in (0, 0, 1))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[0], other[0])
