"""The checkpoint: plain, whole, strict, and never half there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from parity_tests.recipe_samples import on_cpu
from recipe import checkpoint as subject
from recipe.checkpoint import CHECKPOINT, CheckpointError, load_model, save_checkpoint
from recipe.model import GPT

META = {"step": 3, "total_train_tokens": 192, "world_size": 1}


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GPT:
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    model = GPT(on_cpu(), torch.float32)
    model.initialize()
    return model


def test_it_comes_back_bit_for_bit_in_eval_mode(model: GPT) -> None:
    save_checkpoint(model, on_cpu(), META)
    loaded = load_model(str(CHECKPOINT), "cpu", on_cpu())
    assert not loaded.training
    assert list(loaded.state_dict()) == list(model.state_dict())
    assert all(
        torch.equal(a, b) for a, b in zip(loaded.state_dict().values(), model.state_dict().values(), strict=True)
    )


def test_it_holds_plain_values_and_cpu_tensors_only(model: GPT) -> None:
    save_checkpoint(model, on_cpu(), META)
    raw = torch.load(CHECKPOINT, weights_only=True)
    assert set(raw) == {"model_state", "model_config", "meta"}
    assert raw["meta"] == META
    assert all(type(value) in (int, float) for value in raw["model_config"].values())
    for tensor in raw["model_state"].values():
        assert type(tensor) is torch.Tensor
        assert tensor.device.type == "cpu"
        assert tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
    assert list(Path("out").iterdir()) == [CHECKPOINT]


def test_it_loads_on_neuron_and_keeps_its_values(model: GPT) -> None:
    save_checkpoint(model, on_cpu(), META)
    loaded = load_model(str(CHECKPOINT), "neuron", on_cpu(device="neuron"))
    assert {p.device.type for p in loaded.parameters()} == {"neuron"}
    assert torch.equal(loaded.head.weight.cpu(), model.head.weight)
    assert loaded(torch.zeros(1, 4, dtype=torch.int32, device="neuron")).shape == (1, 4, 64)


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "module._orig_mod."])
def test_prefixes_of_wrappers_do_not_matter(model: GPT, prefix: str) -> None:
    save_checkpoint(model, on_cpu(), META)
    raw = torch.load(CHECKPOINT, weights_only=True)
    raw["model_state"] = {prefix + name: tensor for name, tensor in raw["model_state"].items()}
    torch.save(raw, CHECKPOINT)
    assert torch.equal(load_model(str(CHECKPOINT), "cpu", on_cpu()).embed.weight, model.embed.weight)


@pytest.mark.parametrize(
    ("knob", "value"), [("depth", 3), ("heads", 4), ("rotary_base", 5000.0), ("logit_softcap", 10.0)]
)
def test_another_model_is_refused_by_name(model: GPT, knob: str, value: Any) -> None:
    save_checkpoint(model, on_cpu(), META)
    with pytest.raises(
        CheckpointError, match=rf"final\.pt: model_config has {knob} = .*, this program was made for {value}"
    ):
        load_model(str(CHECKPOINT), "cpu", on_cpu(**{knob: value}))


@pytest.mark.parametrize("change", ["missing", "left over", "shape"])
def test_loading_is_strict(model: GPT, change: str) -> None:
    save_checkpoint(model, on_cpu(), META)
    raw = torch.load(CHECKPOINT, weights_only=True)
    if change == "missing":
        del raw["model_state"]["norm.weight"]
    elif change == "left over":
        raw["model_state"]["extra"] = torch.zeros(1)
    else:
        raw["model_state"]["norm.weight"] = torch.zeros(3)
    torch.save(raw, CHECKPOINT)
    with pytest.raises(CheckpointError, match=r"norm\.weight|extra"):
        load_model(str(CHECKPOINT), "cpu", on_cpu())


@pytest.mark.parametrize("content", [None, b"", b"no checkpoint", "truncated", "list"])
def test_what_cannot_be_read_is_named(model: GPT, content: bytes | str | None) -> None:
    save_checkpoint(model, on_cpu(), META)
    whole = CHECKPOINT.read_bytes()
    if content is None:
        CHECKPOINT.unlink()
    elif content == "list":
        torch.save([1, 2], CHECKPOINT)
    else:
        CHECKPOINT.write_bytes(whole[: len(whole) // 2] if content == "truncated" else bytes(content))  # type: ignore[arg-type]
    with pytest.raises(CheckpointError, match=r"out/final\.pt: .*; train again"):
        load_model(str(CHECKPOINT), "cpu", on_cpu())


def test_a_save_that_fails_leaves_the_old_checkpoint(model: GPT, monkeypatch: pytest.MonkeyPatch) -> None:
    save_checkpoint(model, on_cpu(), META)
    before = CHECKPOINT.read_bytes()

    def full(content: object, path: Path) -> None:
        path.write_bytes(before[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(subject.torch, "save", full)
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(model, on_cpu(), META)
    assert CHECKPOINT.read_bytes() == before
