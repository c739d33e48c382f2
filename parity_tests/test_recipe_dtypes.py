"""Parameters in bf16 beside a master in fp32, state in bf16 beside parameters in fp32."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from parity_tests.recipe_samples import on_cpu, small
from recipe.adamw import AdamW
from recipe.average import make_average
from recipe.checkpoint import CHECKPOINT, load_model, save_checkpoint
from recipe.config import Config
from recipe.model import GPT, make_model
from recipe.optim import make_optimizers
from recipe.ranks import Ranks

ALL: dict[str, Any] = {"matrix_dtype": "bfloat16", "table_dtype": "bfloat16"}
ON_NEURON = {"device": "neuron", "vocab_size": 64, "width": 32, "mlp_width": 128, "depth": 1}


def updated(config: Config, updates: int) -> tuple[GPT, list[torch.optim.Optimizer]]:
    """A model after updates by gradients that every configuration gets alike."""
    torch.manual_seed(0)
    model = make_model(config, torch.float32)
    model.initialize()
    model.to(config.device)
    optimizers, _ = make_optimizers(config, model, Ranks(0, torch.device(config.device)))
    generator = torch.Generator().manual_seed(1)
    for _ in range(updates):
        for parameter in model.parameters():
            gradient = torch.randn(parameter.shape, generator=generator).abs().to(torch.bfloat16)
            parameter.grad = gradient.to(parameter.device, parameter.dtype)
        for optimizer in optimizers:
            optimizer.step()
    return model, optimizers


def values(model: GPT) -> dict[str, Tensor]:
    return {name: parameter.detach().cpu().float() for name, parameter in model.named_parameters()}


@pytest.mark.parametrize(
    ("kernels", "updates"),
    [(on_cpu(depth=1), 100), (small(**ON_NEURON, adamw="nki"), 30)],
    ids=["torch", "AdamW by its kernel"],
)
def test_small_updates_of_bf16_parameters_are_not_lost(kernels: Config, updates: int) -> None:
    rates = dict.fromkeys(("matrix_lr", "embed_lr", "head_lr", "gain_lr"), 0.01 / updates)
    config = type(kernels)(**(vars(kernels) | rates))
    start, _ = updated(config, 0)
    wanted, _ = updated(config, updates)
    found, _ = updated(type(kernels)(**(vars(config) | ALL)), updates)
    dtypes = {name: parameter.dtype for name, parameter in found.named_parameters()}
    assert {name for name, dtype in dtypes.items() if dtype == torch.float32} == {
        name for name in dtypes if "norm" in name
    }
    before, after, result = values(start), values(wanted), values(found)
    for name in result:
        assert torch.allclose(result[name], after[name], rtol=2**-8, atol=1e-6), name
        lost = before[name].to(torch.bfloat16).float()
        assert (after[name] - result[name]).norm() < 0.5 * (after[name] - lost).norm(), name


def test_the_same_updates_are_lost_without_a_master() -> None:
    parameter = nn.Parameter(torch.ones(8, dtype=torch.bfloat16))
    optimizer = AdamW([{"params": [parameter], "lr": 1e-4}], (0.8, 0.95), 0.0, {id(parameter)})
    for _ in range(100):
        parameter.grad = torch.ones_like(parameter)
        optimizer.step()
    assert torch.equal(parameter.float(), torch.ones(8))


def test_state_in_bf16_takes_half_the_room_and_changes_little() -> None:
    wanted, plain = updated(on_cpu(depth=1), 5)
    found, rounded = updated(on_cpu(depth=1, muon_state="bfloat16", adam_state="bfloat16"), 5)
    for kept, dtype in ((plain, torch.float32), (rounded, torch.bfloat16)):
        states = [state for optimizer in kept for state in optimizer.state.values()]
        assert {each.dtype for state in states for each in state.values() if isinstance(each, Tensor)} == {dtype}
    for name, value in values(found).items():
        assert not torch.equal(value, values(wanted)[name]), name
        assert torch.allclose(value, values(wanted)[name], atol=0.02), name


def test_kernels_take_parameters_in_bf16(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest kernels there are, with bf16 activations; the checkpoint is the model, on both devices."""
    kernels: dict[str, Any] = {"embedding": "nki", "mlp": "fused", "loss": "fused", "projection": "fp8_nki"}
    monkeypatch.chdir(tmp_path)
    config = small(**ON_NEURON, **kernels, muon="nki", adamw="nki", ema="nki", ema_decay=0.5, **ALL)
    torch.manual_seed(0)
    model = make_model(config, torch.bfloat16)
    model.initialize()
    model.to("neuron")
    optimizers, owned = make_optimizers(config, model, Ranks(0, torch.device("neuron")))
    average = make_average(config, owned[0])
    tokens = torch.randint(0, 64, (2, 9), generator=torch.Generator().manual_seed(1)).to("neuron")
    for _ in range(2):
        model(tokens[:, :-1], tokens[:, 1:]).backward()
        for optimizer in optimizers:
            optimizer.step()
        average.step()
        model.zero_grad(set_to_none=True)
    average.put_in_place()
    save_checkpoint(model, config, {"step": 2})
    saved = torch.load(CHECKPOINT, weights_only=True)["model_state"]
    assert {name for name, tensor in saved.items() if tensor.dtype == torch.bfloat16} == {
        name for name in saved if "norm" not in name
    }
    with torch.no_grad():
        wanted = model(tokens).cpu()
        assert torch.equal(load_model(str(CHECKPOINT), "neuron", config)(tokens).cpu(), wanted)
        plain = load_model(str(CHECKPOINT), "cpu", on_cpu(depth=1, projection="fp8_torch", **ALL))
        found = plain(tokens.cpu())
        assert found.dtype == torch.float32
        assert torch.allclose(found, wanted, atol=0.05)
        assert not torch.allclose(plain(tokens.cpu().flip(0)), wanted, atol=0.05)
