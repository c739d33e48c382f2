"""This repository's recipe under every configuration: the artifact reads nothing from outside, and where the size
allows a run it trains as the recipe does.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from builder.produce import Build, Request, build
from parity_tests.hand_kept.proof import Runner
from parity_tests.residue import LAUNCHER, residue
from parity_tests.systems import SYSTEMS
from scorer.contest import load
from scorer.room.kit import ensure_kit

ROOT = Path(__file__).parents[1]
CONFIGS = sorted((ROOT / "recipe/configs").glob("*.yaml"))
STAND_INS = [str(ROOT / "scorer/standins/neuron"), str(ROOT / "scorer/standins/kit")]
CONTEST_SIZED = [CONFIGS[0].with_stem(name) for name in SYSTEMS]
BUILDS = [(config, "trainium-frontier-phase1" if config in CONTEST_SIZED else "embedded") for config in CONFIGS]
RUN = {
    "small": ("small", {"num_steps": "2"}),
    "embedded": ("embedded", {"num_steps": "2", "world_size": "1", "micro_batches": "2", "batch_size": "2"}),
    "optimizers": (
        "small",
        {"num_steps": "2", "depth": "1", "batch_size": "2", "clip": "0.5"}
        | {"ema_decay": "1.0", "ema_prewarm": "0.1", "ema_blend": "0.5"}
        | {"matrix_dtype": "bfloat16", "table_dtype": "bfloat16", "muon_state": "bfloat16", "adam_state": "bfloat16"},
    ),
}


def made(config: Path, contest: str = "embedded", sets: dict[str, str] | None = None) -> Build:
    """The recipe's artifact under a configuration."""
    pairs = tuple(f"{name}={value}" for name, value in (sets or {}).items())
    return build(Request(settings=ROOT / "recipe/build.yaml", config=config, sets=pairs, contest=contest))


@pytest.mark.parametrize(("config", "contest"), BUILDS, ids=lambda value: getattr(value, "stem", value))
def test_every_configuration_builds_and_leaves_nothing_to_read(config: Path, contest: str) -> None:
    knobs = yaml.safe_load(config.read_text(encoding="utf-8"))
    artifact = made(config, contest)
    text = artifact.files["train.py"].decode()
    assert residue(text) == []
    assert "load_config" not in text
    assert "import yaml" not in text
    for name, knob in artifact.knobs.items():
        if name in knobs:
            assert knob.value == knobs[name]
            assert f"configs/{config.name}:" in knob.origin


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "small" else pytest.mark.long) for name in RUN]
)
def test_artifact_trains_as_the_recipe(name: str, tmp_path: Path) -> None:
    config, sets = RUN[name]
    artifact = made(ROOT / f"recipe/configs/{config}.yaml", sets=sets)
    runner = Runner(tmp_path)
    environ = {"NEURON_COMPETITION_R1_CACHE_DIR": str(ensure_kit(load("embedded")).cache_dir)}
    words = ["--config", config, *(word for pair in sets.items() for word in (f"--{pair[0]}", pair[1]))]
    recipe = {"module": "recipe.train", "path": [str(ROOT), *STAND_INS]}
    source = runner.add("", environ, words, **recipe)
    control = runner.add("", environ, [*words, "--seed", "99"], **recipe)
    for number in (source, control):
        (Path(runner.jobs[number]["directory"]) / "train.py").unlink()
    text = artifact.files["train.py"].decode()
    built = runner.add(text, environ, ["--seed", "99"], path=STAND_INS, allowed=LAUNCHER)
    results = runner.run()
    for number in (source, control, built):
        assert results[number]["status"] == 0, results[number]["error"]
    assert losses(results[source]["stdout"])
    assert losses(results[built]["stdout"]) == losses(results[source]["stdout"])
    assert results[built]["checkpoint"] == results[source]["checkpoint"]
    assert results[built]["reads"] == []
    assert losses(results[control]["stdout"]) != losses(results[source]["stdout"])
    assert results[control]["checkpoint"] != results[source]["checkpoint"]


def losses(stdout: str) -> list[str]:
    """The loss of each update, as printed."""
    return [piece for line in stdout.splitlines() for piece in line.split(" | ") if piece.startswith("loss ")]
