"""Training speed of the recipe against nanochat's: nox -s trainers -- --nanochat DIR [--rounds N].

DIR is a checkout of nanochat, of which `nanochat/gpt.py` and its optimizer are imported as they are. Both make whole
updates (forward, backward, optimizer step, gradients dropped) of a model of the same shape on the same tokens: eager,
in float32, on one thread each. Each has a process of its own, and they take turns, so that a load of the machine meets
both alike; printed is the median of the rounds' ratios of processor time. Exit code 1 below 1.2.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from recipe.config import Config, load_config
from recipe.model import activation_dtype, make_model
from recipe.optim import make_optimizers
from recipe.ranks import Ranks

WANTED = 1.2
WARM_UP = 3
BY_TORCH = {**dict.fromkeys(("norm", "rotary", "mlp", "muon", "adamw", "attention"), "torch"), "loss": "chunked"}
# Beside the config's own shape, one between that and a contest's.
MID = {"depth": 6, "width": 256, "heads": 4, "mlp_width": 1024, "seq_len": 256, "batch_size": 4}

Step = Callable[[torch.Tensor, torch.Tensor], float]  # inputs, targets [B, T] -> loss


def ours(config: Config) -> Step:
    """An update of the recipe's model on one rank."""
    device = torch.device("cpu")
    model = make_model(config, activation_dtype(config, device))
    model.initialize()
    optimizers, _ = make_optimizers(config, model, Ranks(0, device))

    def step(inputs: torch.Tensor, targets: torch.Tensor) -> float:
        loss = model(inputs, targets)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        model.zero_grad(set_to_none=True)
        return float(loss.item())

    return step


def theirs(config: Config, checkout: Path) -> Step:
    """An update of nanochat's model of the same shape, by its own optimizer."""
    sys.path.insert(0, str(checkout))
    gpt: Any = importlib.import_module("nanochat.gpt")
    shape = {
        "sequence_len": config.seq_len,
        "vocab_size": config.vocab_size,
        "n_layer": config.depth,
        "n_head": config.heads,
        "n_kv_head": config.heads,
        "n_embd": config.width,
        "window_pattern": "L",
    }
    known = {field.name for field in fields(gpt.GPTConfig)}
    model = gpt.GPT(gpt.GPTConfig(**{name: value for name, value in shape.items() if name in known}))
    model.init_weights()
    made = model.setup_optimizer()
    optimizers = made if isinstance(made, list) else [made]

    def step(inputs: torch.Tensor, targets: torch.Tensor) -> float:
        loss = model(inputs, targets)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        model.zero_grad(set_to_none=True)
        return float(loss.item())

    return step


def serve(orders: Connection, config: Config, checkout: Path | None) -> None:
    """A process of one trainer: an update for each order, answered with its processor seconds, until there are none."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    step = ours(config) if checkout is None else theirs(config, checkout)
    tokens = torch.randint(config.vocab_size, (config.batch_size, config.seq_len + 1))
    inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    while orders.recv():
        before = time.process_time()
        step(inputs, targets)
        orders.send(time.process_time() - before)


def compared(config: Config, checkout: Path, rounds: int) -> float:
    """How many times nanochat's tokens a second the recipe makes, the median of the rounds; printed with the rates."""
    context = multiprocessing.get_context("spawn")
    ends: list[Connection] = []
    for other in (None, checkout):
        end, far = context.Pipe()
        context.Process(target=serve, args=(far, config, other), daemon=True).start()
        far.close()
        ends.append(end)

    def turn(end: Connection) -> float:
        end.send(True)
        seconds: float = end.recv()
        return seconds

    times = [[turn(end) for end in ends] for _ in range(WARM_UP + rounds)][WARM_UP:]
    for end in ends:
        end.send(False)
    tokens = config.batch_size * config.seq_len
    rates = [tokens / statistics.median(column) for column in zip(*times, strict=True)]
    ratio = statistics.median(nano / mine for mine, nano in times)
    print(
        f"{config.depth} layers of {config.width}, {config.batch_size} rows of {config.seq_len}: "
        f"recipe {rates[0]:,.0f} tokens/s, nanochat {rates[1]:,.0f}, ratio {ratio:.3f}, wanted {WANTED}",
        flush=True,
    )
    return ratio


def main() -> None:
    """Run both shapes."""
    parser = argparse.ArgumentParser(prog="nox -s trainers --", description=__doc__)
    parser.add_argument("--nanochat", type=Path, required=True, help="a checkout: DIR/nanochat/gpt.py")
    parser.add_argument("--config", default="baseline-embedded", help="recipe/configs/NAME.yaml")
    parser.add_argument("--rounds", type=int, default=20, help="updates of each (default: 20)")
    chosen = parser.parse_args()
    os.environ["TORCHDYNAMO_DISABLE"] = "1"  # eager: what they compile, too
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    plain: Mapping[str, Any] = {**BY_TORCH, "device": "cpu", "world_size": 1, "micro_batches": 1}
    config = replace(load_config(["--config", chosen.config]), **plain)
    ratios = [compared(shape, chosen.nanochat, chosen.rounds) for shape in (config, replace(config, **MID))]
    sys.exit(min(ratios) < WANTED)


if __name__ == "__main__":
    main()
