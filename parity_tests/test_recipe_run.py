"""Whole runs: what is printed, what is left, which kernels run, and that a run repeats bit for bit."""

from __future__ import annotations

import dataclasses
import math
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import nki
import prepare
import pytest
import torch
import yaml
from torch import Tensor
from torch.optim.optimizer import register_optimizer_step_pre_hook

from parity_tests.recipe_samples import small
from recipe.checkpoint import CHECKPOINT, load_model
from recipe.config import Config
from recipe.model import make_model
from recipe.train import train

ROOT = Path(__file__).parents[1]
STEP = re.compile(
    r"step (\d{5}) \| loss (\d+\.\d{4}) \| lrm (\d\.\d{3}) \| dt (\d+\.\d\d)s \| tok/s ([\d,]+)"
    r" \| remaining_time (-?\d+)s \| epoch (\d+)"
)

pytestmark = pytest.mark.usefixtures("one_rank")


def quick(**knobs: Any) -> Config:
    sizes: dict[str, Any] = {"depth": 1, "width": 32, "mlp_width": 128, "batch_size": 2, "seq_len": 32}
    return small(**({"num_steps": 2} | sizes | knobs))


def formulas(config: Config) -> dict[str, int]:
    """The launches per update that build.yaml states, over knobs; kernels without a launch are left out."""
    settings = yaml.safe_load((ROOT / "recipe/build.yaml").read_text(encoding="utf-8"))
    knobs = {**vars(config)}
    stated = settings["kernels"].items()
    counts = {kernel: eval(str(formula), {"__builtins__": {}}, knobs) for kernel, formula in stated}
    return {kernel: count for kernel, count in counts.items() if count}


@pytest.mark.parametrize(
    "knobs",
    [
        {"depth": 1},
        {"depth": 2, "micro_batches": 2},
        {"muon": "nki", "adamw": "nki", "ema": "nki", "ema_decay": 0.5},
        {"attention": "nki", "conv": "nki", "conv_taps": 2, "mlp": "fused", "loss": "fused", "micro_batches": 2},
        {"attention": "nki", "mlp": "fused", "activation": "swiglu", "logit_softcap": 0.0, "lnc": 1, "depth": 2},
        {"mlp": "nki", "activation": "swiglu", "loss": "fused", "logit_softcap": 0.0},
        {"embedding": "nki", "projection": "fp8_nki", "ngram": "nki", "ngram_refresh": 1, "micro_batches": 2}
        | {"bigram_rows": 97, "bigram_width": 8},
        {"projection": "fp8_nki", "mlp": "fused", "muon": "nki", "muon_steps": "polar_express", "lnc": 1},
        {"experts": 3, "expert_width": 16, "projection": "fp8_nki", "loss": "fused", "micro_batches": 2}
        | {"future_tokens": 2},
    ],
    ids=[
        "depth 1",
        "two micro-batches",
        "optimizers",
        "fused",
        "fused swiglu",
        "swiglu",
        "embedding, fp8 and n-grams",
        "fp8 beside a fused MLP",
        "experts and further tokens",
    ],
)
def test_kernels_are_launched_as_often_as_build_settings_say(
    monkeypatch: pytest.MonkeyPatch, knobs: dict[str, Any]
) -> None:
    launches: Counter[str] = Counter()
    per_update: list[dict[str, int]] = []
    call = nki.Kernel.__call__

    def counted(kernel: Any, *args: Any, **named: Any) -> Any:
        launches[kernel.__name__] += 1
        return call(kernel, *args, **named)

    def boundary(step: int) -> None:
        assert step == len(per_update)
        per_update.append(dict(launches))
        launches.clear()

    monkeypatch.setattr(nki.Kernel, "__call__", counted)
    monkeypatch.setattr(prepare, "record_step_boundary", boundary)
    config = quick(**knobs)
    train(config)
    assert per_update == [formulas(config)] * 2
    assert launches == {}
    assert formulas(config) != formulas(quick(depth=3))


def test_while_the_batch_grows_an_update_has_the_launches_of_its_micro_batches_and_counts_their_tokens(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    launches: list[Counter[str]] = [Counter()]
    call = nki.Kernel.__call__

    def counted(kernel: Any, *args: Any, **named: Any) -> Any:
        launches[-1][kernel.__name__] += 1
        return call(kernel, *args, **named)

    monkeypatch.setattr(nki.Kernel, "__call__", counted)
    monkeypatch.setattr(prepare, "record_step_boundary", lambda step: launches.append(Counter()))
    config = quick(num_steps=4, micro_batches=3, batch_warmup_fraction=0.5, muon="nki", log_every=2)
    train(config)
    micro_batches = [1, 2, 3, 3]
    expected = [
        formulas(dataclasses.replace(config, micro_batches=count, batch_warmup_fraction=0.0)) for count in micro_batches
    ]
    assert [dict(each) for each in launches[:-1]] == expected
    assert torch.load(CHECKPOINT, weights_only=True)["meta"]["total_train_tokens"] == sum(micro_batches) * 2 * 32
    lines = [match for line in capsys.readouterr().out.splitlines() if (match := STEP.fullmatch(line))]
    assert [int(match[1]) for match in lines] == [0, 2]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device is here")
def test_the_same_recipe_trains_on_cuda_by_the_torch_operations() -> None:
    torch_operations = {"norm": "torch", "rotary": "torch", "mlp": "torch", "loss": "torch"}
    model = train(quick(device="cuda", **torch_operations))
    assert {(p.device.type, p.dtype) for p in model.parameters()} == {("cuda", torch.float32)}
    assert model(torch.zeros(1, 8, dtype=torch.int32, device="cuda")).isfinite().all()


def test_kernels_are_refused_on_cuda() -> None:
    with pytest.raises(ValueError, match="must be 'torch' where 'device' is not 'neuron'"):
        quick(device="cuda")


def test_a_run_repeats_bit_for_bit_and_another_seed_does_not() -> None:
    states = [{n: t.cpu() for n, t in train(quick(seed=seed)).state_dict().items()} for seed in (1, 1, 2)]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert not all(torch.equal(states[0][name], states[2][name]) for name in states[0])


def test_gradients_are_clipped_together_before_the_optimizers_see_them() -> None:
    seen: list[torch.Tensor] = []

    def note(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        seen.extend(p.grad.cpu().flatten() for group in optimizer.param_groups for p in group["params"])

    hook = register_optimizer_step_pre_hook(note)
    norms, states = [], []
    for clip in (0.0, 0.25, 1000.0):
        states.append(train(quick(clip=clip, num_steps=1)).state_dict())
        norms.append(torch.cat(seen).norm().item())
        seen.clear()
    hook.remove()
    assert norms == pytest.approx([norms[0], 0.25, norms[0]], rel=1e-4)
    assert norms[0] > 0.5
    assert all(torch.equal(states[0][name].cpu(), states[2][name].cpu()) for name in states[0])


def test_the_average_of_the_last_stretch_is_saved_blended_with_the_last_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Uniform, from half the schedule on: over the third and fourth of four updates."""
    models: list[torch.nn.Module] = []
    heads: list[torch.Tensor] = []
    make = make_model
    monkeypatch.setattr("recipe.train.make_model", lambda *args: models.append(make(*args)) or models[-1])
    monkeypatch.setattr(prepare, "record_step_boundary", lambda step: heads.append(head(models[-1])))

    def head(model: torch.nn.Module) -> torch.Tensor:
        return model.get_parameter("head.weight").detach().cpu().clone()

    trained = train(quick(num_steps=4, ema_decay=1.0, ema_prewarm=0.5, ema_blend=0.75))
    assert torch.allclose(head(trained), 0.75 * (heads[2] + heads[3]) / 2 + 0.25 * heads[3], atol=1e-7)
    assert not torch.allclose(heads[2], heads[3], atol=1e-4)


def test_the_checkpoint_is_the_model_that_was_trained() -> None:
    config = quick()
    model = train(config)
    loaded = load_model(str(CHECKPOINT), "neuron", config)
    assert all(torch.equal(a.cpu(), b.cpu()) for a, b in zip(model.parameters(), loaded.parameters(), strict=True))
    meta = torch.load(CHECKPOINT, weights_only=True)["meta"]
    assert meta == {"step": 2, "total_train_tokens": 2 * 2 * 32, "world_size": 1}


def test_the_clock_stops_a_run_without_a_number_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """One second an update: five free ones, then 57 of the 60 seconds, of which the last update leaves the reserve."""
    now = [0.0]
    monkeypatch.setattr("recipe.train.time.monotonic", lambda: now[0])
    monkeypatch.setattr(prepare, "record_step_boundary", lambda step: now.__setitem__(0, now[0] + 1.0))
    monkeypatch.setattr(prepare, "TRAIN_TIME_BUDGET_SECONDS", 10)
    train(quick(num_steps=0, reserve_seconds=3.0))
    assert torch.load(CHECKPOINT, weights_only=True)["meta"]["step"] == 5 + 7


@pytest.mark.parametrize(("every", "kept"), [(0.0, 4), (0.25, 6), (0.7, 7)])
def test_a_run_that_dies_leaves_the_checkpoint_of_its_last_save(
    monkeypatch: pytest.MonkeyPatch, every: float, kept: int
) -> None:
    config = quick(num_steps=10, safety_save_every=every)
    model = make_model(config, torch.bfloat16)
    steps: list[dict[str, Tensor]] = []

    def boundary(step: int) -> None:
        if step == 8:
            raise KeyboardInterrupt
        steps.append({name: tensor.cpu().clone() for name, tensor in model.state_dict().items()})

    monkeypatch.setattr("recipe.train.make_model", lambda config, dtype: model)
    monkeypatch.setattr(prepare, "record_step_boundary", boundary)
    with pytest.raises(KeyboardInterrupt):
        train(config)
    assert torch.load(CHECKPOINT, weights_only=True)["meta"] == {
        "step": kept,
        "total_train_tokens": kept * config.tokens_per_update,
        "world_size": 1,
    }
    loaded = load_model(str(CHECKPOINT), "neuron", config)
    same = [all(torch.equal(t.cpu(), at[n]) for n, t in loaded.state_dict().items()) for at in steps]
    assert same == [made == kept for made in range(1, 9)]


def test_the_wrong_vocabulary_is_refused() -> None:
    with pytest.raises(ValueError, match="tokenizer has 2048 tokens, configured for 1024: set vocab_size to 2048"):
        train(quick(vocab_size=1024))
    assert not CHECKPOINT.exists()


def test_two_ranks_under_torchrun_train_and_evaluate(tmp_path: Path) -> None:
    words = "--config small --world-size 2 --num-steps 3 --depth 1 --batch-size 2 --eval-tokens 500 --eval-seq-len 64"
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "-m", "recipe"]
    path = os.pathsep.join(map(str, (ROOT / "scorer/standins/neuron", ROOT / "scorer/standins/kit", ROOT)))
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*launcher, *words.split()],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    steps, _, summary = done.stdout.partition("---\n")
    lines = [STEP.fullmatch(line) for line in steps.splitlines()]
    assert [int(match[1]) for match in lines if match] == [0, 1, 2]
    assert len(lines) == 3
    pairs = dict(line.split(": ", 1) for line in summary.splitlines())
    assert list(pairs) == [
        "checkpoint_path",
        "training_seconds",
        "charged_seconds_est",
        "over_budget",
        "num_steps",
        "total_tokens_M",
        "world_size",
        "seq_len",
        "num_params_M",
        "eval_split",
        "eval_seq_len",
        "eval_batch_size",
        "eval_tokens",
        "eval_bytes",
        "memory_total_nats",
        "memory_val_bpb",
        "checkpoint_total_nats",
        "public_val_bpb",
    ]
    assert (tmp_path / pairs["checkpoint_path"]).is_file()
    assert (pairs["num_steps"], pairs["world_size"], pairs["over_budget"]) == ("3", "2", "False")
    assert float(pairs["total_tokens_M"]) == 3 * 2 * 2 * 128 / 1e6
    assert pairs["eval_tokens"] == "500"
    assert pairs["memory_total_nats"] == pairs["checkpoint_total_nats"]
    nats, size = float(pairs["checkpoint_total_nats"]), int(pairs["eval_bytes"])
    assert float(pairs["public_val_bpb"]) == nats / (math.log(2) * size)


def test_a_bad_configuration_ends_a_run_with_one_message() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "recipe", "--config", "small", "--dpeth", "3"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.strip() == "command line: unknown knob 'dpeth'; did you mean 'depth'?"
