"""Trusted scoring against a bare forward loop: python -m parity_tests.bench_trusted --artifact DIR --checkpoint FILE.

Both run the same batches of the same model, each in a process of one thread, by turns: one only forward, the other
through the judge (shared memory, checks, cross entropy, sums). Printed is the ratio of tokens a second, pair by pair.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch

from scorer.artifact import Artifact
from scorer.contest import load
from scorer.room.cleanroom import Room, RoomProcess
from scorer.room.kit import ensure_kit
from scorer.room.stand_in import stand_ins
from scorer.trusted.model import Model
from scorer.trusted.nats import Sums, cross_entropy
from scorer.trusted.process import ModelProcess
from scorer.trusted.sources import Source

WANTED = 0.9
BARE = """
import importlib, importlib.util, sys, time, torch
train_py, checkpoint, device = sys.argv[1:]
if device == "neuron":
    importlib.import_module("torch_neuronx")
specification = importlib.util.spec_from_file_location("bare", train_py)
module = importlib.util.module_from_spec(specification)
specification.loader.exec_module(module)
model = module.load_for_eval(checkpoint, torch.device(device))
batches = torch.load("batches.pt")
with torch.no_grad():
    for _ in sys.stdin:
        began = time.perf_counter()
        for batch in batches:
            model(batch.to(device)).to("cpu")
        print(time.perf_counter() - began, flush=True)
"""


def main() -> None:
    """Run the pairs and print them; exit 1 when the median ratio is below what is wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--artifact", type=Path, required=True)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--batches", type=int, default=8)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    profile = load("embedded")
    kit = ensure_kit(profile)
    artifact = Artifact.load(chosen.artifact)
    settings = profile.evaluation.official
    vocabulary = 2048
    generator = torch.Generator().manual_seed(0)
    shape = (settings.batch_size, settings.seq_len)
    batches = [
        torch.randint(0, vocabulary, shape, dtype=torch.int32, generator=generator) for _ in range(chosen.batches)
    ]
    tokens = chosen.batches * settings.batch_size * settings.seq_len
    with Room() as bare_room, Room() as room:
        given = []
        for one in (bare_room, room):
            train_py = one.give("train.py", artifact.train_py.read_bytes())
            given.append((train_py, one.give("final.pt", chosen.checkpoint.read_bytes())))
        variables = {"OMP_NUM_THREADS": "1", "NEURON_COMPETITION_R1_CACHE_DIR": str(kit.cache_dir)}
        environment = [
            one.environment(pythonpath=[*stand_ins(), kit.directory], variables=variables) for one in (bare_room, room)
        ]
        torch.save(batches, bare_room.work / "batches.pt")
        bare = bare_room.popen(
            [sys.executable, "-c", BARE, *map(str, given[0]), profile.machine.device],
            environment[0],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        with ModelProcess(room, *given[1], profile.machine.device, environment[1], 300.0) as process:
            for operation in ("hello", "import", "load"):
                reply = process.call(operation)
                assert reply["ok"], reply
            process.map(settings.batch_size * settings.seq_len, vocabulary)
            model = Model(process, Source(artifact, profile), reply, vocabulary)
            pairs = [(bare_seconds(bare), trusted_seconds(model, batches)) for _ in range(chosen.pairs + 1)][1:]
    for alone, trusted in pairs:
        print(f"bare {tokens / alone:8,.0f} tokens/s   trusted {tokens / trusted:8,.0f}   ratio {alone / trusted:.3f}")
    ratio = statistics.median(alone / trusted for alone, trusted in pairs)
    print(f"median ratio {ratio:.3f}, wanted {WANTED}")
    sys.exit(ratio < WANTED)


def bare_seconds(bare: RoomProcess) -> float:
    """One turn of the bare loop."""
    assert bare.stdin is not None
    assert bare.stdout is not None
    bare.stdin.write(b"go\n")
    bare.stdin.flush()
    return float(bare.stdout.readline())


def trusted_seconds(model: Model, batches: list[torch.Tensor]) -> float:
    """One turn through the judge."""
    began = time.perf_counter()
    sums = Sums()
    for logits, targets in model.stream((batch, batch.long()) for batch in batches):
        losses = cross_entropy(logits, targets)
        sums.add(losses, torch.ones(losses.numel(), dtype=torch.int64))
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
