"""Training packages in the styles that are seen in public, built and run from an empty directory: losses, all that is
printed, checkpoints and logits are those of the sources, and a changed setting makes a difference.
"""

from __future__ import annotations

import shutil
import socket
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from builder.produce import Request, build
from parity_tests.hand_kept.proof import Runner, outcome, words
from parity_tests.residue import LAUNCHER, residue

PACKAGES = Path(__file__).parent / "torch_packages"
LAUNCH = "NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=1 train.py"


@dataclass(frozen=True)
class Run:
    """One setting of one package, and what the control changes."""

    package: str
    entry: str
    settings: dict[str, str]
    control: dict[str, str]
    gone: tuple[str, ...] = ()  # what the artifact must not hold any more
    ranks: dict[str, str] = field(default_factory=dict)


RUNS = {
    "package, defaults": Run("package", "gpt/train.py", {}, {"--seed": "1"}, ("SGD(", "argparse")),
    "package, another model": Run(
        "package",
        "gpt/train.py",
        {"GPT_DEPTH": "3", "GPT_SEED": "4", "--mlp": "swiglu", "--norm": "layer", "--bias": "", "--tie": ""},
        {"--no-bias": ""},
        ("GPT_DEPTH", "GPT_SEED"),
    ),
    "package, another optimizer": Run(
        "package",
        "gpt/train.py",
        {"GPT_OPTIMIZER": "sgd", "--softcap": "15", "--betas": "0.8 0.9", "--num-steps": "3", "--lr=0.2": ""},
        {"GPT_OPTIMIZER": "adamw"},
        ("class Muon", "AdamW("),
    ),
    "siblings, defaults": Run("siblings", "train.py", {}, {"--bs": "3"}, ("BigNet", "class Mean")),
    "siblings, others": Run(
        "siblings", "train.py", {"M_MIX": "mean", "M_DEPTH": "3", "--opt": "adamw", "--big": ""}, {"M_DEPTH": "1"},
        ("class Lion", "class Conv"),
    ),
    "speedrun, defaults": Run("speedrun", "train.py", {}, {"LAYERS": "1"}, ("class SignMomentum",)),
    "speedrun, compiled": Run(
        "speedrun", "train.py", {"COMPILE": "1", "USE_DDP": "0", "OPTIMIZER": "sign", "DIM": "8"}, {"SEED": "3"},
        ("class Shampooish", "OPTIMIZER"),
    ),
    "speedrun, one rank of DDP": Run(
        "speedrun", "train.py", {"ITERATIONS": "3"}, {"SEED": "3"}, (),
        {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1"},
    ),
}  # fmt: skip


def free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


def launch(settings: dict[str, str]) -> str:
    environ, argv = words(settings)
    return " ".join([*(f"{name}={value}" for name, value in environ.items()), LAUNCH, *argv])


@pytest.mark.parametrize(
    "package",
    [
        pytest.param(name, marks=() if name == "siblings" else pytest.mark.long)
        for name in sorted({run.package for run in RUNS.values()})
    ],
)
def test_artifact_trains_as_the_package(package: str, tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    numbers = {}
    for name, run in RUNS.items():
        if run.package != package:
            continue
        made = build(Request(entry=PACKAGES / package / run.entry, launch=launch(run.settings), contest="embedded"))
        text = made.files["train.py"].decode()
        assert made.launch == LAUNCH
        assert residue(text) == []
        for word in run.gone:
            assert word not in text, f"{name}: {word}"
        sources = []
        for settings in (run.settings, {**run.settings, **run.control}):
            environ, argv = words(settings)
            port = {"MASTER_PORT": free_port()} if run.ranks else {}
            number = runner.add("", {**environ, **run.ranks, **port}, argv, file=run.entry, module=module_of(run))
            room = Path(runner.jobs[number]["directory"])
            (room / "train.py").unlink()
            shutil.copytree(PACKAGES / package, room, dirs_exist_ok=True)
            sources.append(number)
        port = {"MASTER_PORT": free_port()} if run.ranks else {}
        artifact = runner.add(text, {**run.ranks, **port}, ["--no-such-flag"], allowed=LAUNCHER)
        loads = [runner.again(number, load=True) for number in (sources[0], artifact)]
        numbers[name] = (*sources, artifact, *loads)
    results = runner.run()
    for name, (source, control, artifact, *loads) in numbers.items():
        for number in (source, control, artifact):
            assert results[number]["status"] == 0, f"{name}: {results[number]['error']}"
        assert results[source]["checkpoint"]
        assert outcome(results[artifact]) == outcome(results[source]), name
        assert outcome(results[control]) != outcome(results[source]), name
        assert results[loads[0]]["logits"] == results[loads[1]]["logits"], f"{name}: {results[loads[1]]['error']}"


def module_of(run: Run) -> str:
    """The module that a run starts, when its entry lies in a package."""
    return run.entry.removesuffix(".py").replace("/", ".") if "/" in run.entry else ""
