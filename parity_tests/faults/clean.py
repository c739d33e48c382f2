"""Clean runs: recipes that nothing is wrong with, on machines that differ; none of them may raise a finding.

`python -m parity_tests.faults.clean [--count N] [--first N] [--jobs N]` runs those alone; exit code 0 only without any.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from parity_tests.faults.run import Expected, Fault, judged, prepare

# What a user's machine may look like; none of it may reach a lane or change a byte.
MACHINES: list[dict[str, str]] = [
    {"PYTHONHASHSEED": "0", "LANG": "C", "NEURON_CC_FLAGS": "--optlevel=3"},
    {"PYTHONHASHSEED": "1", "LC_ALL": "C.UTF-8", "OMP_NUM_THREADS": "2", "PYTHONDONTWRITEBYTECODE": "1"},
    {"PYTHONHASHSEED": "12345", "LC_ALL": "POSIX", "NEURON_LOGICAL_NC_CONFIG": "1", "RANK": "3", "WORLD_SIZE": "8"},
    {"PYTHONHASHSEED": "random", "TZ": "Asia/Tokyo", "NKI_PRECISE_FP": "0", "XLA_USE_BF16": "1"},
    {"PYTHONHASHSEED": "4294967295", "PYTHONUTF8": "1", "TORCH_LOGS": "", "MKL_NUM_THREADS": "2"},
]
# Other recipes of about the same size. Each line is drawn by itself; the first value is the smallest configuration's.
KNOBS: list[list[dict[str, Any]]] = [
    [{"depth": 2}, {"depth": 1}, {"depth": 3}],
    [{"width": 64, "heads": 2}, {"width": 32, "heads": 1}, {"width": 96, "heads": 3}, {"width": 128, "heads": 4}],
    [{"dtype": "bfloat16"}, {"dtype": "float32"}],
    [{"lnc": 2}, {"lnc": 1}],
    [{"norm": "nki"}, {"norm": "torch"}],
    [{"rotary": "nki"}, {"rotary": "torch"}],
    [{"mlp": "nki"}, {"mlp": "torch"}],
    [{"loss": "nki"}, {"loss": "torch"}],
    [{"fused_attention": True}, {"fused_attention": False}],
    [{"seq_len": 128}, {"seq_len": 64}],
    [{"batch_size": 4}, {"batch_size": 3}],
    [{"micro_batches": 1}, {"micro_batches": 2}],
    [{"world_size": 1}, {"world_size": 1}, {"world_size": 2}],
    [{"weight_decay": 0.0}, {"weight_decay": 0.1}],
    [{"logit_softcap": 15.0}, {"logit_softcap": 10.0}],
    [{"matrix_momentum": 0.95}, {"matrix_momentum": 0.9}],
    [{"warmup_fraction": 0.05}, {"warmup_fraction": 0.0}],
    [{"num_steps": 6}, {"num_steps": 8}],
    [{"eval_seq_len": 128}, {"eval_seq_len": 64}],
    [{"eval_batch_size": 32}, {"eval_batch_size": 8}],
    [{"attention": "torch"}, {"attention": "nki"}, {"attention": "nki", "attention_window": 50}],
    [{"activation": "relu_squared"}, {"activation": "swiglu"}],
    [{"conv_taps": 0}, {"conv_taps": 2}, {"conv_taps": 3, "conv": "nki"}],
    [{}, {}, {"mlp": "fused"}],
    [{}, {}, {"loss": "fused"}],
    [{}, {}, {"loss": "nki", "logit_softcap": 0.0}],
    [{"embedding": "torch"}, {"embedding": "nki"}],
    [{"projection": "torch"}, {"projection": "fp8_nki"}, {"projection": "fp8_torch"}],
    [{"muon": "torch"}, {"muon": "nki"}, {"muon": "nki", "muon_steps": "polar_express"}],
    [{"adamw": "torch"}, {"adamw": "nki"}, {"adamw": "nki", "adam_state": "bfloat16"}],
    [{"ema_decay": 0.0}, {"ema_decay": 0.5}, {"ema_decay": 0.9, "ema": "nki"}],
    [{}, {}, {"ngram": "nki", "ngram_refresh": 2, "loss": "nki"}],
    [{}, {}, {"depth": 3, "skips": True, "residual_mix": True}, {"attention_every": 2, "value_embeddings": True}],
    [{"mlp_width": 256}, {"mlp_width": 128}, {"mlp_width": 384}, {"mlp_width": 200}],
    [{}, {}, {"attention_gate": True, "smear_gate": True}],
    [{}, {}, {"attention_gate": True}, {"value_embeddings": True}, {"residual_mix": True}],
    [{}, {}, {"smear_gate": True}, {"bigram_rows": 1000, "bigram_width": 24}],
    [{}, {}, {"experts": 3, "expert_width": 72}, {"clip": 1.0}, {"matrix_dtype": "bfloat16"}],
    [{}, {}, {"row_pool": 20}, {"safety_save_every": 0.5}, {"log_every": 2}],
]
CONFIG = "recipe/configs/small.yaml"


@dataclass(frozen=True)
class Clean:
    """A clean run: what was changed in the smallest configuration, and what came of it."""

    changed: dict[str, Any]
    problem: str | None  # None: it passed without a finding
    seconds: float


def drawn(turn: int) -> dict[str, Any]:
    """The knobs of a turn: the smallest configuration's own in the first one, always the same for one turn."""
    if turn == 0:
        return {}
    draw = random.Random(turn)
    changed: dict[str, Any] = {"seed": draw.randrange(2**31)}
    for values in KNOBS:
        value = draw.choice(values)
        if value != values[0]:
            changed |= value
    return changed


def clean_run(turn: int) -> Clean:
    """Build and compare the turn's recipe, from a directory of its own, on the turn's machine."""
    began, changed = time.monotonic(), drawn(turn)
    with tempfile.TemporaryDirectory(prefix=f"clean {turn} é-") as directory:
        root = Path(directory)
        fault = Fault(row="none", title="clean", expect=Expected(code="", file=""))
        prepare(root, fault)
        config = root / CONFIG
        config.write_text(yaml.safe_dump(yaml.safe_load(config.read_text("utf-8")) | changed), "utf-8")
        verdict = judged(root, fault, **MACHINES[turn % len(MACHINES)])
    problem = None
    if verdict["verdict"] != "pass" or verdict["findings"]:
        codes = [f"{f['code']} {f['message'][:200]}" for f in verdict["findings"]]
        problem = f"verdict {verdict['verdict']}: {codes} {verdict.get('reason', '')}"
    return Clean(changed, problem, time.monotonic() - began)


def run_clean(turns: Iterable[int], workers: Executor, console: Console) -> int:
    """Run some turns and print a line for each; how many raised something."""
    false_alarms = 0
    for turn, ran in zip(turns, workers.map(clean_run, turns), strict=True):
        false_alarms += ran.problem is not None
        mark, said = ("ok  ", "no finding") if ran.problem is None else ("FAIL", ran.problem)
        knobs = ", ".join(f"{name} {value}" for name, value in ran.changed.items()) or "as it is"
        console.print(f"{mark} clean run {turn}, {knobs}: {said} ({ran.seconds:.1f} s)", highlight=False)
    return false_alarms


def main() -> int:
    """Run, print a line for each, then the total."""
    parser = argparse.ArgumentParser(prog="python -m parity_tests.faults.clean", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="how many (default: 100)")
    parser.add_argument("--first", type=int, default=0, help="the first turn (default: 0)")
    parser.add_argument("--jobs", type=int, default=2, help="how many beside each other (default: 2)")
    chosen = parser.parse_args()
    console, began = Console(emoji=False), time.monotonic()
    with ThreadPoolExecutor(chosen.jobs) as workers:
        alarms = run_clean(range(chosen.first, chosen.first + chosen.count), workers, console)
    quiet, seconds = chosen.count - alarms, time.monotonic() - began
    console.print(f"clean runs without a finding / total: {quiet} / {chosen.count}, {seconds:.0f} s", highlight=False)
    return 1 if alarms else 0


if __name__ == "__main__":
    sys.exit(main())
