"""All runs of a race in turns, and what they say about each system."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence

from pydantic import BaseModel, ConfigDict

from parity_tests.speedrun.entries import FIRST, Entry
from parity_tests.speedrun.runs import Run

WANTED = 0.12  # how much lower the best system's bits per byte are to be than the baseline's
SMOOTHED = 20  # the loss at some update is the mean of a twentieth of the updates up to it


class Part(BaseModel):
    """Base of every part of the document: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid")


class Spread(Part):
    """A quantity over the seeds. `deviation`: the sample standard deviation; None of a single run."""

    mean: float
    deviation: float | None


class System(Part):
    """What the runs of one system say. A system of which a run does not count has no numbers."""

    name: str
    runs: list[Run]
    problem: str | None
    val_bpb: Spread | None = None
    steps: Spread | None = None
    step_seconds: Spread | None = None
    tokens_per_second: Spread | None = None
    loss: Spread | None = None  # in training, at the update that every run of the race made
    peak_bytes: int | None = None  # the most of any run
    parameters: int = 0
    against: float | None = None  # val_bpb in relation to the baseline's, less 1


class Race(Part):
    """The document `race.json`: the systems, best first; those without numbers last."""

    contest: str
    contest_version: int
    seconds: float  # of training, charged by the contest's clock
    scored_tokens: int
    split: str
    facts: dict[str, str]  # what the race was made with
    equal_steps: int  # the update at which training losses are compared
    systems: list[System]

    @property
    def best(self) -> System | None:
        """The system with the lowest bits per byte."""
        return next((system for system in self.systems if system.val_bpb is not None), None)

    @property
    def baseline(self) -> System | None:
        """The system that the others are compared with, where it ran and counts."""
        return next((s for s in self.systems if s.name == FIRST and s.val_bpb is not None), None)

    @property
    def is_whole(self) -> bool:
        """Whether every run counts."""
        return all(system.problem is None for system in self.systems)

    @property
    def reaches(self) -> bool | None:
        """Whether the best system is as much below the baseline as wanted; None where the baseline has no rival."""
        if self.best is None or self.baseline is None or len(self.systems) == 1:
            return None
        return self.best.against is not None and -self.best.against >= WANTED

    @property
    def passed(self) -> bool:
        """Whether every run counts, and the target is not missed."""
        return self.is_whole and self.reaches is not False


def order(systems: Sequence[str], seeds: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Every system once in each seed's round; each round begins with another one, so that none is always first."""
    for round_, seed in enumerate(seeds):
        first = round_ % len(systems)
        yield from ((system, seed) for system in (*systems[first:], *systems[:first]))


def run_all(
    entries: Sequence[Entry], kept: Callable[[Entry], Run | None], take: Callable[[Entry, str], Run]
) -> list[Run]:
    """Every run in its order, an earlier one where it is kept; `take` is told which of how many it makes."""
    runs = []
    for number, entry in enumerate(entries, 1):
        runs.append(kept(entry) or take(entry, f"{entry.name}, run {number} of {len(entries)}"))
    return runs


def equal_steps(runs: Sequence[Run]) -> int:
    """Updates that every run made of those that count."""
    return min((run.steps for run in runs if run.counts), default=0)


def loss_at(run: Run, steps: int) -> float:
    """Training loss after so many updates, smoothed over the last of them."""
    return statistics.fmean(run.losses[max(0, steps - max(1, steps // SMOOTHED)) : steps])


def concluded(runs: Sequence[Run]) -> tuple[list[System], int]:
    """The systems, best first, and the update at which their training losses are compared."""
    steps = equal_steps(runs)
    of_system: dict[str, list[Run]] = {}
    for run in runs:
        of_system.setdefault(run.system, []).append(run)
    found = [_system(name, its, steps) for name, its in of_system.items()]
    baseline = next((s.val_bpb for s in found if s.name == FIRST), None)
    if baseline is not None:
        found = [
            s if s.val_bpb is None else s.model_copy(update={"against": s.val_bpb.mean / baseline.mean - 1})
            for s in found
        ]
    return sorted(found, key=lambda s: (s.val_bpb is None, s.val_bpb.mean if s.val_bpb else 0.0, s.name)), steps


def _system(name: str, runs: list[Run], steps: int) -> System:
    failed = [run for run in runs if not run.counts]
    if failed:
        told = f"seed {failed[0].seed}: {failed[0].problem}"
        return System(name=name, runs=runs, problem=told)
    peaks = [run.peak_bytes for run in runs if run.peak_bytes is not None]
    return System(
        name=name,
        runs=runs,
        problem=None,
        val_bpb=spread([run.val_bpb for run in runs if run.val_bpb is not None]),
        steps=spread([run.steps for run in runs]),
        step_seconds=spread([run.step_seconds for run in runs]),
        tokens_per_second=spread([run.tokens_per_second for run in runs]),
        loss=spread([loss_at(run, steps) for run in runs]),
        peak_bytes=max(peaks, default=None),
        parameters=runs[0].parameters,
    )


def spread(values: Sequence[float]) -> Spread:
    """Mean and sample standard deviation."""
    return Spread(mean=statistics.fmean(values), deviation=statistics.stdev(values) if len(values) > 1 else None)


def told(race: Race) -> str:
    """What came out, in a sentence."""
    if not race.is_whole:
        failed = [system for system in race.systems if system.problem is not None]
        return f"{len(failed)} of {len(race.systems)} systems have no result: {failed[0].name}, {failed[0].problem}"
    best, baseline = race.best, race.baseline
    assert best is not None
    assert best.val_bpb is not None
    if baseline is None or best is baseline or best.against is None:
        against = "" if baseline is None else ": no system is better than the baseline"
        return f"{best.name} is best with {best.val_bpb.mean:.4f} bits per byte{against}"
    met = "met" if race.reaches else "missed"
    return (
        f"{best.name} is best with {best.val_bpb.mean:.4f} bits per byte, {-100 * best.against:.1f} % below the "
        f"baseline at equal time: the target of {100 * WANTED:g} % is {met}"
    )
