"""Trusted scoring against a bare forward loop: python -m parity_tests.bench_trusted [--artifact DIR --checkpoint FILE].

Both run the same batches of the same model, each in a process of one thread, by turns: one only forward, the other
through the judge (shared memory, checks, cross entropy, sums, samples for the second process), for every world size.
Printed is the ratio of tokens a second, pair by pair. Then a tiny model is scored over 100 thousand and over a million
tokens: neither the judge nor the model process may hold more afterwards. Without an artifact, a small model of the
contest's vocabulary stands in for it.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import torch

from parity_tests import trusted_samples
from scorer.artifact import Artifact
from scorer.contest import EvaluationSettings, Profile, load
from scorer.room.cleanroom import Room, RoomProcess
from scorer.room.kit import KitPaths, ensure_kit
from scorer.room.stand_in import stand_ins
from scorer.trusted import scoring
from scorer.trusted.loading import load as load_model
from scorer.trusted.model import Model
from scorer.trusted.nats import rows
from scorer.trusted.process import HostProcess, Submitted
from scorer.trusted.purity.record import Record
from scorer.trusted.purity.scored import Sampler
from scorer.trusted.settings import per_rank
from scorer.trusted.sources import Source

WANTED = 0.9
WORLDS = (1, 2, 3, 4)
FLAT_BYTES = 16 << 20
BARE = """
import importlib, importlib.util, sys, time, torch
train_py, checkpoint, device, device_module = sys.argv[1:]
if device_module:
    importlib.import_module(device_module)
specification = importlib.util.spec_from_file_location("bare", train_py)
module = importlib.util.module_from_spec(specification)
specification.loader.exec_module(module)
model = module.load_for_eval(checkpoint, torch.device(device))
with torch.no_grad():
    for line in sys.stdin:
        batches = torch.load(line.strip())
        began = time.perf_counter()
        for batch in batches:
            model(batch.to(device)).to("cpu")
        print(time.perf_counter() - began, flush=True)
"""


class RandomStreams:
    """Streams of random tokens, as the judge reads them from a kit."""

    def __init__(self, vocabulary: int) -> None:
        self.vocabulary = vocabulary
        self.token_bytes = torch.ones(vocabulary, dtype=torch.int64)

    def stream(self, _split: str, rank: int, world_size: int, count: int) -> torch.Tensor:
        """The first `count` + 1 tokens of one rank's stream, int32."""
        generator = torch.Generator().manual_seed(100 * world_size + rank)
        return torch.randint(0, self.vocabulary, (count + 1,), dtype=torch.int32, generator=generator)


def main() -> None:
    """Run everything and print it; exit 1 when a ratio is below what is wanted, or memory grows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--artifact", type=Path)
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--pairs", type=int, default=8)
    # The first and the last batch are not overlapped: too few of them, and the ratio is not that of a whole score.
    parser.add_argument("--batches", type=int, default=96)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    slow = False
    with Room() as room:
        artifact, checkpoint, profile = subject(room.tmp, chosen.artifact, chosen.checkpoint)
        for world in WORLDS:
            slow |= speed(artifact, checkpoint, profile, world, chosen.pairs, chosen.batches) < WANTED
        grown = memory(room.tmp)
    sys.exit(slow or grown > FLAT_BYTES)


def subject(directory: Path, artifact: Path | None, checkpoint: Path | None) -> tuple[Artifact, Path, Profile]:
    """What is scored: a built artifact, or a small model of the same vocabulary on the CPU."""
    profile = load("embedded")
    if artifact is not None and checkpoint is not None:
        return Artifact.load(artifact), checkpoint, profile
    vocabulary, width = profile.kit.vocab_size, 256
    text = trusted_samples.TRAIN_PY.replace("61", str(vocabulary))
    made, file = trusted_samples.written(directory / "small", text, {})
    model = trusted_samples.imported(text).Model(width)
    torch.save({"model_state": model.state_dict(), "model_config": {"width": width}, "meta": {"step": 1}}, file)
    machine = profile.machine.model_copy(update={"device": "cpu", "device_module": None})
    return made, file, profile.model_copy(update={"machine": machine})


@contextmanager
def loaded(
    artifact: Artifact, checkpoint: Path, profile: Profile, kit: KitPaths, settings: EvaluationSettings, vocabulary: int
) -> Iterator[Model]:
    """A model in a process of its own, with room for one batch."""
    with Room() as room:
        train_py = room.give("train.py", artifact.train_py.read_bytes())
        saved = room.give("final.pt", checkpoint.read_bytes())
        machine = profile.machine
        with HostProcess(room, machine.device, machine.device_module, environment(room, kit), 300.0) as host:
            host.hello()
            submitted = Submitted(train_py, saved, machine.device, profile.evaluation.hook)
            with host.start(submitted, settings.batch_size * settings.seq_len, vocabulary) as process:
                yield load_model(process, Source(artifact, profile), profile, [])


def environment(room: Room, kit: KitPaths) -> dict[str, str]:
    variables = {"OMP_NUM_THREADS": "1", "NEURON_COMPETITION_R1_CACHE_DIR": str(kit.cache_dir)}
    return room.environment(pythonpath=[*stand_ins(), kit.directory], variables=variables)


def speed(artifact: Artifact, checkpoint: Path, profile: Profile, world: int, pairs: int, batches: int) -> float:
    """The median ratio at one world size."""
    kit = ensure_kit(profile)
    vocabulary = profile.kit.vocab_size
    official = profile.evaluation.official
    tokens = batches * official.batch_size * official.seq_len
    settings = official.model_copy(update={"world_size": world, "max_tokens": tokens})
    streams = RandomStreams(vocabulary)
    with Room() as room, loaded(artifact, checkpoint, profile, kit, settings, vocabulary) as model:
        train_py = room.give("train.py", artifact.train_py.read_bytes())
        saved = room.give("final.pt", checkpoint.read_bytes())
        same = [
            inputs
            for rank in range(world)
            for inputs, _ in rows(
                streams.stream("", rank, world, per_rank(settings)), settings.batch_size, settings.seq_len
            )
        ]
        torch.save(same, room.work / "batches.pt")
        machine = profile.machine
        bare = room.popen(
            [sys.executable, "-c", BARE, str(train_py), str(saved), machine.device, machine.device_module or ""],
            environment(room, kit),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        found = [
            (bare_seconds(bare, room.work / "batches.pt"), trusted_seconds(model, streams, profile, settings))
            for _ in range(pairs + 1)
        ][1:]
    for alone, trusted in found:
        ratio = alone / trusted
        print(
            f"bare {tokens / alone:9,.0f} tokens/s   trusted {tokens / trusted:9,.0f}   ratio {ratio:.3f}", flush=True
        )
    ratio = statistics.median(alone / trusted for alone, trusted in found)
    print(f"{world} ranks: median ratio {ratio:.3f}, wanted {WANTED}", flush=True)
    return ratio


def bare_seconds(bare: RoomProcess, batches: Path) -> float:
    """One turn of the bare loop."""
    assert bare.stdin is not None
    assert bare.stdout is not None
    bare.stdin.write(f"{batches}\n".encode())
    bare.stdin.flush()
    return float(bare.stdout.readline())


def trusted_seconds(model: Model, streams: RandomStreams, profile: Profile, settings: EvaluationSettings) -> float:
    """One turn through the judge."""
    wanted = [("bench", settings)]
    sampler = Sampler(profile.evaluation.purity.scored_rows, scoring.num_rows(wanted))
    record = Record(model.source, None)
    began = time.perf_counter()
    scoring.measure(model, streams, profile, wanted, sampler, record, lambda _: None)
    return time.perf_counter() - began


def memory(directory: Path) -> int:
    """Bytes by which judge and model process grow from 100 thousand tokens to a million, the larger of both."""
    profile = trusted_samples.small_profile()
    kit = ensure_kit(load("embedded"))
    artifact, checkpoint = trusted_samples.written(directory / "tiny", trusted_samples.submission())
    settings = profile.evaluation.official.model_copy(update={"seq_len": 128, "batch_size": 32})
    streams = RandomStreams(trusted_samples.VOCABULARY)
    held = []
    with loaded(artifact, checkpoint, profile, kit, settings, trusted_samples.VOCABULARY) as model:
        for tokens in (100_000, 1_000_000):
            trusted_seconds(model, streams, profile, settings.model_copy(update={"max_tokens": tokens}))
            held.append((psutil.Process().memory_info().rss, model.process.host.memory()))
    grown = [after - before for before, after in zip(*held, strict=True)]
    for who, before, more in zip(("judge", "model process"), held[0], grown, strict=True):
        print(f"{who}: {before / 2**20:.1f} MiB after 100 thousand tokens, {more / 2**20:+.1f} MiB after a million")
    return max(grown)


if __name__ == "__main__":
    main()
