"""Small train.py programs and the means to run them, for the tests of the room and the observer."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from parity_tests import forked
from scorer import contest
from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.room.kit import KitPaths
from scorer.room.lane import LaneSpec, run_lane
from scorer.room.launch import LaunchPlan
from scorer.room.observer.settings import VARIABLE, Settings
from scorer.room.receipts import Clock, Kit, Lane, Receipt

OBSERVER = Path(__file__).parents[1] / "scorer" / "room" / "observer"

KIT = '''"""A kit small enough for a test: the landmarks that the observer looks for."""
import torch

def make_dataloader(batch_size, seed):
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.empty(batch_size, 8)
    while True:
        inputs.copy_(torch.randn(batch_size, 8, generator=generator))
        yield inputs, inputs.sum(1, keepdim=True), {"epoch": 1}

def record_step_boundary(step):
    pass

def evaluate_bpb(model):
    return {"val_bpb": 1.0}
'''

HEAD = '''"""Trains a tiny model."""
import os
import time
from dataclasses import dataclass

import prepare
import torch
import torch.distributed as dist


@dataclass(frozen=True)
class Config:
    width: int = 16
    learning_rate: float = 0.05


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(8, width)
        self.down = torch.nn.Linear(width, 1, bias=False)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


def save(model, step):
    os.makedirs("out", exist_ok=True)
    torch.save({"model_state": model.state_dict(), "model_config": {}, "meta": {"step": step}}, "out/final.pt")


def main(steps=6):
    config = Config()
    rank = int(os.environ["RANK"])
    torch.manual_seed(7)
    model = Model(config.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate)
    batches = prepare.make_dataloader(4, seed=rank)
    for step in range(steps):
        for _ in range(2):
            x, y, _ = next(batches)
            loss = (model(x) - y).pow(2).mean() / 2
            loss.backward()
        if dist.is_initialized():
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
        optimizer.step()
        optimizer.zero_grad()
        prepare.record_step_boundary(step)
        if rank == 0:
            print(f"step {step:05d} | loss {loss.item():.4f} | tok/s {1234:,}", flush=True)
        HOOK(step, rank)
    if rank == 0:
        save(model, steps)
        print("---")
        print("num_steps:", steps)
'''
TAIL = """

if __name__ == "__main__":
    main()
"""


def program(hook: str = "pass", before: str = "", after: str = "") -> str:
    """A train.py that runs `hook` (statements over `step` and `rank`) after each update."""
    lines = "\n".join(f"    {line}" for line in hook.splitlines())
    return f"{HEAD}\n\ndef HOOK(step, rank):\n{lines}\n{before}{TAIL}{after}"


def line_of(source: str, text: str) -> int:
    """The number of the one line that contains `text`."""
    numbers = [number for number, line in enumerate(source.splitlines(), 1) if text in line]
    assert len(numbers) == 1, (text, numbers)
    return numbers[0]


@dataclass
class Alone:
    """One rank run by itself, without launcher and room: its journal, output and working directory."""

    journal: list[dict[str, Any]]
    output: str
    exit_code: int
    work: Path
    by_kind: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for line in self.journal:
            self.by_kind.setdefault(line["kind"], []).append(line)

    @property
    def updates(self) -> list[dict[str, Any]]:
        return self.by_kind.get("update", [])

    @property
    def events(self) -> list[tuple[str, str, int | None]]:
        found = (line["event"] for line in self.by_kind.get("event", []))
        return [(event["kind"], event["detail"], event["site"] and event["site"]["line"]) for event in found]

    @property
    def checkpoint(self) -> bytes:
        return (self.work / "out" / "final.pt").read_bytes()


def run_alone(
    directory: Path, source: str, *, observed: bool = True, fresh: bool = False, kit: str = KIT, **settings: Any
) -> Alone:
    """Run `source` as rank 0 of 1 in `directory`/work, with the kit beside it; `settings` override the observer's.

    `fresh`: by an interpreter of its own, for what depends on how a process starts.
    """
    work, kit_directory, records = directory / "work", directory / "kit", directory / "records"
    for path in (work, kit_directory, records):
        path.mkdir(parents=True, exist_ok=True)
    (work / "train.py").write_text(source)
    (kit_directory / "prepare.py").write_text(kit)
    chosen: dict[str, Any] = {
        "records": str(records),
        "root": str(work),
        "not_program": [str(OBSERVER), str(kit_directory)],
        "code": [str(work), str(OBSERVER), str(kit_directory)],
        "writable": [str(work / "out"), str(records)],
        "work": str(work),
        "stand_ins": str(directory / "none"),
        "data": str(directory / "data"),
        "kit": str(kit_directory),
        "kit_module": "prepare",
        "dataloader": "make_dataloader",
        "step_boundary": "record_step_boundary",
        "evaluate": "evaluate_bpb",
        "seconds_per_update": None,
        "timeline": None,
        "window": 2,
        "census_update": None,
        "account": False,
        "profiled": [],
        "turns_from": None,
        "deal_as": None,
        "keep_values": False,
        "perturb": False,
        "stop_after_window": False,
    }
    Settings(**{**chosen, **settings}).write(directory / "observe.json")
    path = [OBSERVER / "path", kit_directory] if observed else [kit_directory]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(directory),
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": ":".join(map(str, path)),
        "RANK": "0",
        "WORLD_SIZE": "1",
        **({VARIABLE: str(directory / "observe.json")} if observed else {}),
    }
    log = directory / "log.txt"
    exit_code: int | None
    if fresh:
        with log.open("wb") as output:
            exit_code = subprocess.run(
                [sys.executable, "train.py"],
                cwd=work, env=environment, stdout=output, stderr=output, timeout=forked.SECONDS, check=False,
            ).returncode  # fmt: skip
    else:
        exit_code = forked.run(forked.Program(("train.py",), work, tuple(map(str, path)), environment, log))
        assert exit_code is not None, f"it did not end: {log.read_text()}"
    journal = records / "rank-0.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
    return Alone(lines, log.read_text(), exit_code, work)


@functools.cache
def profile() -> Profile:
    """The embedded contest with a short time limit."""
    embedded = contest.load("embedded")
    return embedded.model_copy(update={"budget": embedded.budget.model_copy(update={"run_timeout_seconds": 90.0})})


def small_kit(directory: Path) -> KitPaths:
    """The test's kit as a lane takes it."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "prepare.py").write_text(KIT)
    data = directory / "data"
    data.mkdir(exist_ok=True)
    return KitPaths(directory, data, Kit(stand_in=True, prepare_sha256="0" * 64, data_sha256={}))


def plan(nproc: int = 1) -> LaunchPlan:
    """What `parse` makes of the plainest launch string."""
    return LaunchPlan(
        text=f"NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node={nproc} train.py",
        environment={"NEURON_LOGICAL_NC_CONFIG": "2"},
        launcher=["torchrun", "--standalone"],
        nproc_per_node=nproc,
        program=["train.py"],
    )


def quick(launch: LaunchPlan) -> LaunchPlan:
    """The same launch by a launcher that imports torch once for itself and all ranks."""
    return replace(launch, launcher=[sys.executable, forked.__file__])


def run_artifact(
    directory: Path,
    source: str,
    *,
    nproc: int = 1,
    torchrun: bool = False,
    data: Mapping[str, str] = MappingProxyType({}),
    **fields: Any,
) -> Receipt:
    """Run `source` as a whole lane; `fields` override those of the LaneSpec, `profile` the profile.

    `torchrun`: by torch's launcher, for what depends on it; else by forked.py. `data` are files of the kit's data, as
    path -> text.
    """
    directory.mkdir(parents=True, exist_ok=True)
    train_py = directory / "train.py"
    train_py.write_text(source)
    launch = plan(nproc) if torchrun else quick(plan(nproc))
    chosen = fields.pop("profile", profile())
    progress = fields.pop("progress", None)
    spec = LaneSpec(
        **{
            "lane": Lane.ARTIFACT,
            "plan": launch,
            "source": Artifact.from_file(train_py, launch.text),
            "clock": Clock(kind="virtual", seconds_per_update=0.5),
            "environment": {"OMP_NUM_THREADS": "1"},
            **fields,
        }
    )
    kit = small_kit(directory / "kit")
    for path, text in data.items():
        (kit.cache_dir / path).parent.mkdir(parents=True, exist_ok=True)
        (kit.cache_dir / path).write_text(text, "utf-8")
    return run_lane(spec, chosen, kit, directory / "keep", progress)
