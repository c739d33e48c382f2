"""What the device of the stand-in costs: python -m parity_tests.bench_device [--config NAME] [--rounds N].

One training step of the recipe, all operations by torch: on the device "neuron" in bfloat16 and in float32, against the
same step on plain CPU tensors in float32. Each has a process of its own, that of the CPU without the stand-in, and they
take turns, so that a load of the machine meets them alike; printed is the median of the rounds' ratios of processor
time. Exit code 1 when the device takes more than 1.5 times the CPU.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection

import torch

from recipe.config import Config, load_config
from recipe.model import GPT, activation_dtype
from recipe.optim import make_optimizers
from recipe.ranks import Ranks, register_device

ALLOWED = 1.5
WARM_UP = 2
KINDS: dict[str, dict[str, str]] = {
    "cpu float32": {"device": "cpu"},
    "neuron float32": {"device": "neuron", "dtype": "float32"},
    "neuron bfloat16": {"device": "neuron", "dtype": "bfloat16"},
}
BY_TORCH = dict.fromkeys(("norm", "rotary", "mlp", "loss"), "torch")


def training_step(config: Config) -> Callable[[], float]:
    """A function that does one update of a new model on one rank and returns the processor seconds that it took."""
    register_device(config)
    device = torch.device(config.device)
    torch.manual_seed(config.seed)
    model = GPT(config, activation_dtype(config, device))
    model.initialize()
    model.to(device)
    optimizers, _ = make_optimizers(config, model, Ranks(0, device))
    tokens = torch.randint(config.vocab_size, (config.batch_size, config.seq_len + 1)).to(device)

    def step() -> float:
        before = time.process_time()
        model(tokens[:, :-1], tokens[:, 1:]).backward()
        for optimizer in optimizers:
            optimizer.step()
        model.zero_grad(set_to_none=True)
        return time.process_time() - before

    return step


def serve(orders: Connection, name: str, kind: str) -> None:
    """A process of one kind: one step for each order, until there are no more."""
    torch.set_num_threads(1)
    changes: dict[str, object] = {**KINDS[kind], **BY_TORCH, "world_size": 1, "micro_batches": 1}
    step = training_step(replace(load_config(["--config", name]), **changes))  # type: ignore[arg-type]
    while orders.recv():
        orders.send(step())


def main() -> None:
    """Run the rounds and print the ratios."""
    parser = argparse.ArgumentParser(prog="python -m parity_tests.bench_device", description=__doc__)
    parser.add_argument("--config", default="embedded", help="recipe/configs/NAME.yaml (default: embedded)")
    parser.add_argument("--rounds", type=int, default=20, help="updates of each kind (default: 20)")
    chosen = parser.parse_args()
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # only who asks for the device gets it
    context = multiprocessing.get_context("spawn")
    ends = {}
    for kind in KINDS:
        ends[kind], theirs = context.Pipe()
        context.Process(target=serve, args=(theirs, chosen.config, kind), daemon=True).start()
        theirs.close()

    def step(kind: str) -> float:
        ends[kind].send(True)
        seconds: float = ends[kind].recv()
        return seconds

    rounds = [{kind: step(kind) for kind in KINDS} for _ in range(WARM_UP + chosen.rounds)][WARM_UP:]
    for end in ends.values():
        end.send(False)
    worst = 0.0
    for kind in KINDS:
        ratio = statistics.median(took[kind] / took["cpu float32"] for took in rounds)
        seconds = statistics.median(took[kind] for took in rounds)
        print(f"{kind:<16} {seconds:.3f} s an update, {ratio:.2f} x the CPU", flush=True)
        worst = max(worst, ratio)
    print(f"the device takes at most {worst:.2f} times as long; {ALLOWED} is allowed")
    raise SystemExit(worst > ALLOWED)


if __name__ == "__main__":
    main()
