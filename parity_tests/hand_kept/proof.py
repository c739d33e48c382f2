"""The proof that a hand-kept file and its artifact are one program: built, run side by side, compared bit for bit.

    python -m parity_tests.hand_kept.proof --experiments 63 --seeds 1 2 3      # files of full size, all settings

What the test does with small files, with any; and one run of each file by its launch string, as two processes.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from builder.produce import Build, Request, build
from parity_tests.hand_kept import HandKept, write
from parity_tests.hand_kept.run import digest
from parity_tests.residue import LAUNCHER, residue

# Every way of reading a knob is flipped by at least one of these; each is joined with knobs of the experiments.
SETTINGS: dict[str, dict[str, str]] = {
    "defaults": {},
    "shape": {
        "FF_DEPTH": "3", "FF_ACT": "swiglu", "FF_KV_HEADS": "2", "FF_QK_NORM": "0", "FF_FIXED_SCALE": "1",
        "FF_TAG": "shape", "FF_NUM_STEPS": "3", "--seq-len": "24", "--schedule": "cosine", "--shuffle": "",
    },
    "norms": {
        "FF_NORM": "layer", "FF_ATTN": "window", "FF_WINDOW": "8", "FF_NO_VALUE_RESIDUAL": "", "FF_SKIP_WEIGHTS": "yes",
        "FF_MATRIX_LR": "0.01", "FF_BETAS": "0.9, 0.99", "FF_HEAD_NORM": "rms", "FF_LOG_EVERY": "2",
        "--betas": "0.7 0.9", "--no-clip": "", "--log-param-norm": "", "-b": "3",
    },
    "adamw": {
        "FF_OPT": "adamw", "FF_EMA": "0.9", "FF_USE_POINTS": "1", "FF_LR_POINTS": "0:1.0,2:0.5", "FF_TIED": "true",
        "FF_EMBED_SCALE": "1", "FF_ROPE_FRACTION": "0.5", "FF_WEIGHT_DECAY": "0.1", "FF_WARMUP": "1",
        "--min-lr": "0.001", "--grad-accum": "2", "--log-grad-norm": "", "--eval-every": "2",
    },
    "lion": {
        "FF_OPT": "lion", "FF_PARALLEL": "1", "FF_ATTN_GATE": "1", "FF_LOGIT_BIAS": "on", "FF_Z_LOSS": "1e-3",
        "FF_NORM_EPS": "1e-5", "FF_X0_MIX": "0.1", "--no-final-eval": "", "--freeze-layers": "0", "--echo-flags": "",
        "--log-tokens": "", "--schedule=constant": "",
    },
    "heads": {
        "FF_BOTTLENECK": "16", "FF_MTP_WEIGHT": "0.3", "FF_SMOOTHING": "0.1", "FF_NESTEROV": "0", "FF_CAUTIOUS": "1",
        "FF_SHARED_LAYERS": "1", "FF_POST_NORM": "y", "FF_DETERMINISTIC": "1", "FF_NS_COEFFS": "3.4,-4.7,2.0",
        "--muon-scale": "rms", "--embed-lr-mult": "5", "--foreach": "", "--eval-seq-len": "16", "--eval-batches": "2",
    },
    "half": {
        "FF_DTYPE": "bf16", "FF_WIDTH": "16", "FF_HEADS": "3", "FF_MLP_RATIO": "2", "FF_INIT_STD": "0.05",
        "FF_ZERO_INIT": "off", "FF_WARMDOWN": "2", "FF_DOC_LEN": "11", "FF_DATA_SEED": "5", "FF_CLIP": "0",
        "FF_MOMENTUM_WARMUP": "0", "--schedule": "linear", "--lr": "0.01", "--warmup-steps": "0", "--fused": "",
    },
}  # fmt: skip
# One setting more, or another value of one: what it prints or leaves must differ.
CONTROLS = {
    "defaults": ("FF_SEED", "1235"),
    "shape": ("FF_ACT", "geglu"),
    "norms": ("FF_WINDOW", "4"),
    "adamw": ("--lr", "0.005"),
    "lion": ("FF_Z_LOSS", "1e-2"),
    "heads": ("FF_SMOOTHING", "0.2"),
    "half": ("FF_DATA_SEED", "6"),
}
HOSTILE = {"FF_DEPTH": "1", "FF_SEED": "9", "FF_ACT": "gelu", "FF_NO_VALUE_RESIDUAL": "1", "FF_TAG": "x"}


class Runner:
    """Collects runs and does them all in one process."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.jobs: list[dict[str, Any]] = []

    def add(self, text: str, environ: dict[str, str], argv: list[str], **more: Any) -> int:
        """Add a run of a program in a directory of its own; its number."""
        directory = self.directory / str(len(self.jobs))
        directory.mkdir()
        (directory / "train.py").write_text(text, encoding="utf-8")
        self.jobs.append({"directory": str(directory), "environ": environ, "argv": argv, **more})
        return len(self.jobs) - 1

    def again(self, number: int, **more: Any) -> int:
        """Add another run in the directory of an earlier one."""
        self.jobs.append({**self.jobs[number], **more})
        return len(self.jobs) - 1

    def run(self) -> list[dict[str, Any]]:
        """The results, by number."""
        jobs = self.directory / "jobs.json"
        jobs.write_text(json.dumps(self.jobs), encoding="utf-8")
        command = [sys.executable, "-m", "parity_tests.hand_kept.run", str(jobs)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        results: list[dict[str, Any]] = json.loads(done.stdout)
        return results


def words(settings: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    """Settings as the variables and the flags that a program sees."""
    environ = {name: value for name, value in settings.items() if not name.startswith("-")}
    argv = " ".join(f"{name} {value}" for name, value in settings.items() if name.startswith("-")).split()
    return environ, argv


def outcome(result: dict[str, Any]) -> tuple[Any, ...]:
    """What two equal runs have in common."""
    return result["status"], result["stdout"], result.get("checkpoint")


def some_settings(file: HandKept, name: str, seed: int = 0) -> dict[str, str]:
    """One of the settings above, with knobs of the file's experiments."""
    if name == "defaults":
        return {}
    experiments = file.some_settings(seed=100 * seed + list(SETTINGS).index(name))
    return {**experiments, **SETTINGS[name]}


def built(file: HandKept, settings: dict[str, str], directory: Path) -> Build:
    """The artifact of a file under the settings of a launch string."""
    directory.mkdir()
    return build(Request(entry=_written(file, directory), launch=file.launch(settings), contest="embedded"))


def prove(file: HandKept, runs: dict[str, dict[str, str]], directory: Path) -> list[int]:
    """Build the file under all settings, run original and artifact, and compare them; the artifacts' sizes.

    Raises AssertionError for the first difference, or where a changed setting makes none.
    """
    (directory / "built").mkdir()
    (directory / "runs").mkdir()
    runner, numbers, sizes = Runner(directory / "runs"), {}, []
    for name, settings in runs.items():
        made = built(file, settings, directory / "built" / name)
        text = made.files["train.py"].decode()
        assert residue(text) == [], name
        assert made.launch == "NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=1 train.py"
        assert len(text) * 3 <= len(file.text) * 2, f"{name}: {len(text)} of {len(file.text)}"
        sizes.append(made.size)
        key, value = CONTROLS[name]
        environ, argv = words(settings)
        original = runner.add(file.text, environ, argv)
        artifact = runner.add(text, {}, [], allowed=LAUNCHER)
        hostile = runner.add(text, HOSTILE, ["--seed", "9", "--no-such-flag", "-h"], allowed=LAUNCHER)
        control = runner.add(file.text, *words({**settings, key: value}))
        loads = [runner.again(number, load=True) for number in (original, artifact)]
        numbers[name] = (original, artifact, hostile, control, *loads)
    results = runner.run()
    for name, (original, artifact, hostile, control, *loads) in numbers.items():
        assert results[original]["status"] == 0, f"{name}: {results[original]['error']}"
        assert results[artifact]["status"] == 0, f"{name}: {results[artifact]['error']}"
        assert outcome(results[artifact]) == outcome(results[original]), name
        assert "| loss " in results[original]["stdout"]
        assert outcome(results[hostile]) == outcome(results[original]), name
        assert outcome(results[control]) != outcome(results[original]), name
        assert results[control]["status"] == 0, results[control]["error"]
        assert set(results[artifact]["reads"]) <= {"RANK", "LOCAL_RANK", "WORLD_SIZE"}
        assert any(read.startswith("FF_") for read in results[original]["reads"])
        assert results[loads[0]]["logits"] == results[loads[1]]["logits"], name
    return sizes


def launched(text: str, launch: str, directory: Path) -> tuple[list[str], str]:
    """Run a program by its launch string: the lines of its losses, and a hash of its checkpoint."""
    directory.mkdir()
    (directory / "train.py").write_text(text, encoding="utf-8")
    command = shlex.split(launch)
    at = command.index("torchrun")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}"
    environment = dict(word.split("=", 1) for word in command[:at])
    environment = {"PATH": path, "HOME": str(directory), "OMP_NUM_THREADS": "1", **environment}
    done = subprocess.run(
        command[at:], cwd=directory, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    losses = [line for line in done.stdout.splitlines() if "| loss " in line]
    return losses, digest(directory / "out" / "final.pt")


def prove_launched(file: HandKept, settings: dict[str, str], directory: Path) -> None:
    """The same for two processes, by the launch strings themselves: given to the builder, and written by it."""
    directory.mkdir()
    launch = file.launch(settings, processes=2)
    made = build(Request(entry=_written(file, directory), launch=launch, contest="embedded"))
    original = launched(file.text, launch, directory / "original")
    assert original[0]
    assert launched(made.files["train.py"].decode(), made.launch, directory / "artifact") == original
    control = file.launch({**settings, "FF_SEED": "77"}, processes=2)
    assert launched(file.text, control, directory / "control") != original


def _written(file: HandKept, directory: Path) -> Path:
    path = directory / "train.py"
    path.write_text(file.text, encoding="utf-8")
    return path


def main() -> None:
    """Prove files of any size, and say how small they become."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--experiments", type=int, default=63)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    args = parser.parse_args()
    for seed in args.seeds:
        for parse in ("function", "module"):
            started = time.monotonic()
            file = write(seed, args.experiments, parse)
            runs = {name: some_settings(file, name, seed) for name in SETTINGS}
            with tempfile.TemporaryDirectory() as room:
                sizes = prove(file, runs, Path(room))
                prove_launched(file, runs["shape"], Path(room) / "launched")
            lines, share = file.text.count("\n"), [f"{size / len(file.text):.0%}" for size in sizes]
            seconds = time.monotonic() - started
            print(
                f"seed {seed}, flags parsed in a {parse}: {lines:,} lines, {len(file.text):,} bytes; artifacts"
                f" {' '.join(share)} of that; bit-equal under {len(runs)} settings ({seconds:.0f} s)",
                flush=True,
            )


if __name__ == "__main__":
    main()
