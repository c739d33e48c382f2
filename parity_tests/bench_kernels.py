"""How long the stand-in takes for a kernel beside torch: python -m parity_tests.bench_kernels [--runs N] [CASE ...].

Every file of recipe/kernels makes its step (forward and backward) at sizes of the contest, by its kernels and by the
torch reference, on the stand-in's device, on one thread, in turn. Printed is the ratio of the medians of processor
time, for fp32 and bf16; at most 10 is allowed for kernels that work element by element, 5 for those that are bound by
products. Then an update of the recipe with every operation by kernels, beside one with every operation by torch (at
most 12), and the most memory that each took.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
import typing
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy asks
ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "scorer/standins/neuron"), str(ROOT / "scorer/standins/kit")]

import torch  # noqa: E402
import torch_neuronx  # noqa: E402, F401 (registers the device)

from parity_tests.kernel_cases import CASES, Size, Step  # noqa: E402
from recipe.average import make_average  # noqa: E402
from recipe.config import Config, load_config  # noqa: E402
from recipe.model import activation_dtype, make_model  # noqa: E402
from recipe.optim import make_optimizers  # noqa: E402
from recipe.ranks import Ranks  # noqa: E402

ALLOWED = {"elements": 10.0, "matmul": 5.0}
ALLOWED_UPDATE = 12.0
DTYPES = (torch.float32, torch.bfloat16)
UPDATE = "update"
SIZES = {
    "world_size": 1, "depth": 4, "width": 512, "mlp_width": 2048, "heads": 4, "vocab_size": 8192, "seq_len": 512,
    "batch_size": 4, "conv_taps": 4, "ema_decay": 0.99, "fused_attention": True,
}  # fmt: skip


def contest(dtype: torch.dtype) -> Size:
    """Width 768, 2,048 rows: one micro-batch of a rank."""
    return Size(batch=2, positions=1024, heads=6, head_dim=128, hidden=3072, vocabulary=8192, dtype=dtype, lnc=2)


def seconds(step: Step) -> float:
    """Processor seconds of one run."""
    began = time.process_time()
    step()
    return time.process_time() - began


def compare(kernels: Step, reference: Step, runs: int) -> tuple[float, float]:
    """Median seconds by kernels and by torch, the two in turn, after one run of each."""
    kernels(), reference()
    pairs = [(seconds(kernels), seconds(reference)) for _ in range(runs)]
    return statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs)


def operations() -> list[str]:
    """Knobs of the recipe that choose between kernels and torch."""
    kinds = typing.get_type_hints(Config)
    return [name for name, kind in kinds.items() if {"nki", "torch"} <= set(typing.get_args(kind))]


def update(implementation: str) -> Step:
    """One update of the recipe on one rank, with every operation by "nki" or by "torch"."""
    knobs = {**SIZES, **dict.fromkeys(operations(), implementation)}
    words = [word for name, value in knobs.items() for word in (f"--{name}", str(value).lower())]
    config = load_config(["--config", "embedded", *words])
    ranks = Ranks(0, torch.device("neuron"))
    torch.manual_seed(0)
    model = make_model(config, activation_dtype(config, ranks.device))
    model.initialize()
    model.to(ranks.device)
    optimizers, owned = make_optimizers(config, model, ranks)
    average = make_average(config, owned[0])
    tokens = torch.randint(config.vocab_size, (2, config.batch_size, config.seq_len)).to(ranks.device)

    def step() -> None:
        model(tokens[0], tokens[1].int()).backward()
        for optimizer in optimizers:
            optimizer.step()
        average.step()
        model.zero_grad(set_to_none=True)

    return step


def memory(implementation: str) -> float:
    """MiB that a process takes at most which makes two updates, above one that has built the model alone."""
    most = []
    for updates in ("0", "2"):
        command = [sys.executable, "-m", "parity_tests.bench_kernels", "--memory", implementation, updates]
        said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        most.append(float(said))
    return most[1] - most[0]


def most_memory() -> float:
    """MiB that this process took at most. What getrusage says begins with the parent's."""
    status = Path("/proc/self/status").read_text("utf-8")
    return float(status.partition("VmHWM:")[2].split()[0]) / 1024


def judge(name: str, words: str, taken: tuple[float, float], allowed: float) -> bool:
    """Print a comparison; whether it is above what is allowed."""
    ratio = taken[0] / taken[1]
    told = f"{1000 * taken[0]:8.0f} ms / {1000 * taken[1]:7.0f} ms = {ratio:6.2f}, at most {allowed:.0f}"
    print(f"{name:24} {words:9} {told}", flush=True)
    return ratio > allowed


def main() -> None:
    """Measure and judge."""
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}, {UPDATE}")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--memory", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    if chosen.memory:
        step = update(chosen.memory[0])
        for _ in range(int(chosen.memory[1])):
            step()
        print(most_memory())
        return
    missed = False
    for name in chosen.cases or [*CASES, UPDATE]:
        if name == UPDATE:
            missed |= judge(UPDATE, "bfloat16", compare(update("nki"), update("torch"), chosen.runs), ALLOWED_UPDATE)
            print(f"memory of an update: {memory('nki'):,.0f} MiB by kernels, {memory('torch'):,.0f} MiB by torch")
            continue
        for dtype in DTYPES:
            taken = compare(*CASES[name].make(contest(dtype)), chosen.runs)
            missed |= judge(name, str(dtype).removeprefix("torch."), taken, ALLOWED[CASES[name].kind])
    raise SystemExit(missed)


if __name__ == "__main__":
    main()
