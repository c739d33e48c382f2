"""One run of a race: its record, how it is made of the receipts, and where it is kept."""

from __future__ import annotations

import hashlib
import math
import os
import platform
from collections.abc import Callable
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict, ValidationError

from parity_tests.speedrun.entries import Entry
from scorer.compare.clock import charged
from scorer.contest import Profile
from scorer.files import write_atomic
from scorer.room import receipts as receipt_files
from scorer.room.kit import KitPaths
from scorer.room.lane import LaneSpec, run_lane
from scorer.room.receipts import Clock, Lane, Outcome, Receipt
from scorer.trusted.judge import score
from scorer.trusted.settings import trusted

RECORD = "run.json"


class Run(BaseModel):
    """What one run was and gave. Seconds are real ones; losses are nats per token, the mean over ranks and batches."""

    model_config = ConfigDict(extra="forbid")

    system: str
    seed: int
    key: str  # of all that the numbers depend on: a run with another key is made again
    problem: str | None  # why it does not count; None: it does
    launch: str
    parameters: int = 0
    tokens: int = 0  # of all updates
    steps: int = 0
    excluded: int = 0  # of them before the charged time
    start_up: float = 0.0  # launch to the end of the last excluded update
    train: float = 0.0  # from there to the end of the last update
    charged: float = 0.0
    peak_bytes: int | None = None  # of all ranks together
    seconds: list[float] = []  # of each update
    losses: list[float] = []  # of each update
    val_bpb: float | None = None  # by the trusted scorer

    @property
    def counts(self) -> bool:
        """Whether it ended well and within the budget, with a score."""
        return self.problem is None

    @property
    def step_seconds(self) -> float:
        """Median of the updates behind the excluded ones."""
        charged_ones = sorted(self.seconds[self.excluded :])
        return charged_ones[len(charged_ones) // 2] if charged_ones else float("nan")

    @property
    def tokens_per_second(self) -> float:
        """Over all updates behind the excluded ones."""
        made = self.steps - self.excluded
        return self.tokens / self.steps * made / self.train if made > 0 and self.train > 0 else float("nan")


def key_of(entry: Entry, profile: Profile, kit: KitPaths, cores: int) -> str:
    """Names all that a run's numbers depend on: the program, the launch, the contest, the data and the machine."""
    parts = [entry.artifact.sha256, *(other.sha256 for other in entry.artifact.others), entry.plan.text]
    parts += [profile.model_dump_json(), kit.record.model_dump_json(), str(entry.seed)]
    parts += [platform.node(), platform.python_version(), torch.__version__, str(cores)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def place(root: Path, entry: Entry) -> Path:
    """Where the run is kept: its record, receipts, log and checkpoint."""
    return root / "runs" / entry.system / str(entry.seed)


def kept(root: Path, entry: Entry, key: str) -> Run | None:
    """The run as an earlier race left it; None where there is none, where it did not count, or of another key."""
    try:
        found = Run.model_validate_json((place(root, entry) / RECORD).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
    return found if found.key == key and found.counts else None


def take(
    entry: Entry, profile: Profile, kit: KitPaths, root: Path, key: str, tell: Callable[[str], None] | None = None
) -> Run:
    """Train by the real clock in a clean room, score the checkpoint, and keep the record, which is written last."""
    directory = place(root, entry)
    (directory / RECORD).unlink(missing_ok=True)
    spec = LaneSpec(lane=Lane.REHEARSAL, plan=entry.plan, source=entry.artifact, clock=Clock(kind="real"))
    receipt = run_lane(spec, profile, kit, directory, tell and (lambda line: tell(line.removeprefix(f"{spec.lane}: "))))
    receipt_files.write(receipt, directory / "receipt.json")
    scored = None
    if receipt.outcome is Outcome.COMPLETE and receipt.checkpoint is not None:
        scored = score(entry.artifact, directory / profile.files.checkpoint, profile, kit, None, tell)
        receipt_files.write(scored, directory / "trusted.json")
    kit.check_unchanged()
    run = measured(entry, receipt, scored, profile, key)
    write_atomic(directory / RECORD, run.model_dump_json(indent=1) + "\n")
    return run


def measured(entry: Entry, receipt: Receipt, scored: Receipt | None, profile: Profile, key: str) -> Run:
    """The record of one run: of what was trained and how it was scored, or why it does not count."""
    run = Run(system=entry.system, seed=entry.seed, key=key, problem=None, launch=entry.plan.text)
    updates = min((len(rank.updates) for rank in receipt.ranks), default=0)
    if receipt.time is not None and updates:
        meta = receipt.checkpoint.meta if receipt.checkpoint else {}
        peaks = [rank.peak_bytes for rank in receipt.ranks if rank.peak_bytes is not None]
        run = run.model_copy(
            update={
                "parameters": sum(math.prod(p.shape) for p in receipt.ranks[0].parameters),
                "tokens": int(meta.get("total_train_tokens", 0)),
                "steps": updates,
                "excluded": min(updates, profile.budget.startup_updates_excluded),
                "start_up": receipt.time.start_up,
                "train": receipt.time.train,
                "charged": charged(receipt.time, profile.budget).total,
                "peak_bytes": sum(peaks) if len(peaks) == len(receipt.ranks) else None,
                "seconds": [update.seconds for update in receipt.ranks[0].updates[:updates]],
                "losses": [_loss(receipt, number) for number in range(updates)],
                "val_bpb": _official(scored, profile),
            }
        )
    return run.model_copy(update={"problem": _problem(run, receipt, scored, profile)})


def _problem(run: Run, receipt: Receipt, scored: Receipt | None, profile: Profile) -> str | None:
    if receipt.outcome is not Outcome.COMPLETE:
        return f"{receipt.outcome.value}: {receipt.problem}"
    if scored is None:
        return "left no checkpoint"
    if scored.outcome is not Outcome.COMPLETE or run.val_bpb is None:
        return f"not scored: {scored.problem or 'the trusted scorer gives no number'}"
    if run.steps <= run.excluded:
        return f"{run.steps} updates were seen, of which {run.excluded} are start-up"
    if run.charged > profile.budget.train_seconds:
        return f"over the budget: {run.charged:.1f} s are charged of {profile.budget.train_seconds:g} s"
    return None


def _official(scored: Receipt | None, profile: Profile) -> float | None:
    """The trusted scorer's own number under the official settings."""
    found = trusted(scored.evaluations, profile.evaluation.official) if scored is not None else None
    return None if found is None else float.fromhex(found.val_bpb)


def _loss(receipt: Receipt, update: int) -> float:
    losses = [float.fromhex(loss) for rank in receipt.ranks for loss in rank.updates[update].losses]
    return sum(losses) / len(losses) if losses else float("nan")


def pin_cores(wanted: int) -> int:
    """Keep this process and all that it starts on so many cores; returns how many they are."""
    if not hasattr(os, "sched_setaffinity"):
        return os.cpu_count() or 1
    cores = sorted(os.sched_getaffinity(0))[:wanted]
    os.sched_setaffinity(0, cores)
    return len(cores)
