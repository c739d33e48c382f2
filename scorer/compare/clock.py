"""The contest's clock: how much of the budget a run on the real clock was charged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scorer.compare import own_count
from scorer.compare.case import Case
from scorer.contest import Budget
from scorer.findings import Finding, Severity, define, finding
from scorer.room import timing
from scorer.room.receipts import Outcome, Receipt, TimeSplit

RUN014 = define(
    "RUN014",
    title="The run is over the contest's budget",
    why="What the clock charges beyond the budget makes the run invalid, however good its score.",
    remedy="Stop earlier: leave a step, the save and the exit, and count start-up beyond the allowance as spent.",
)
RUN015 = define(
    "RUN015",
    title="Little of the contest's budget was left",
    why="Hosts differ by more than this run had left; on a slower one it is over the budget.",
    remedy="Stop earlier by the reserve that the contest's profile states, or make the start-up shorter.",
    severity=Severity.ADVICE,
)


@dataclass(frozen=True)
class Charge:
    """What a run was charged, in seconds."""

    start_up: float  # the start-up's excess over the allowance
    train: float  # from the last excluded update to the last one
    tail: float  # after the last update, where the contest charges it

    @property
    def total(self) -> float:
        """All that counts against the budget."""
        return self.start_up + self.train + self.tail


def charged(time: TimeSplit, budget: Budget) -> Charge:
    """What the contest's clock makes of a run's time."""
    return Charge(
        start_up=max(0.0, time.start_up - budget.startup_allowance_seconds),
        train=time.train,
        tail=time.tail if budget.charged_until == "process_end" else 0.0,
    )


def compare(case: Case) -> list[Finding]:
    """Findings about the artifact's run: its budget where it had the real clock, of which a virtual one says nothing;
    and the program's own count of its time on either.
    """
    run = case.artifact_lane
    if run is None or run.clock is None:
        return []
    if run.clock.kind == "real":
        return [] if run.time is None else [*_judge(run, run.time, case.profile.budget), *_counted(case, run, run.time)]
    return [*_counted_in_updates(case, run, run.clock.seconds_per_update or 0.0)]


def _counted(case: Case, run: Receipt, time: TimeSplit) -> Iterator[Finding]:
    """The program cannot see its own exit, and may keep a margin for what it did not see of its start-up."""
    if run.outcome is not Outcome.COMPLETE or timing.EXIT not in time.parts:
        return
    budget = case.profile.budget
    charge, names = charged(time, budget), (timing.SAVE, timing.EVALUATION)
    parts = {own_count.EXCESS: charge.start_up, own_count.START_UP: time.start_up}
    parts |= {f"the {name}": time.parts[name] for name in names if name in time.parts}
    low = budget.reserve_seconds + (time.parts[timing.EXIT] if charge.tail else 0.0)
    high = budget.reserve_seconds if time.start_up < budget.startup_allowance_seconds / 2 else None
    yield from own_count.judge(case, run, charge.total, parts, low=low, high=high)
    yield from own_count.judge_training(case, run, time.train, time.total, budget.reserve_seconds)


def _counted_in_updates(case: Case, run: Receipt, each: float) -> Iterator[Finding]:
    """On a clock that goes by the updates: exact, to the one update that a program may not have counted yet."""
    made = max((len(rank.updates) for rank in run.ranks), default=0)
    if run.outcome is not Outcome.COMPLETE or not made:
        return
    budget = case.profile.budget
    start_up = min(budget.startup_updates_excluded, made) * each
    excess = max(0.0, start_up - budget.startup_allowance_seconds)
    ours = excess + made * each - start_up
    high = budget.reserve_seconds if not excess else None
    parts = {own_count.EXCESS: excess, own_count.START_UP: start_up}
    yield from own_count.judge(case, run, ours, parts, low=each, high=high)
    yield from own_count.judge_training(case, run, made * each - start_up, made * each, budget.reserve_seconds)


def _judge(run: Receipt, time: TimeSplit, budget: Budget) -> Iterator[Finding]:
    charge = charged(time, budget)
    left = budget.train_seconds - charge.total
    if left >= budget.reserve_seconds:
        return
    over = f"{-left:.1f} s over" if left < 0 else f"{left:.1f} s left, less than the reserve of"
    reserve = "" if left < 0 else f" {budget.reserve_seconds:g} s"
    message = (
        f"{charge.total:.1f} s are charged of {budget.train_seconds:g} s, {over}{reserve}: start-up took "
        f"{time.start_up:.1f} s, of which {budget.startup_allowance_seconds:g} s are free; "
        f"{charge.train:.1f} s from there to the last update, {charge.tail:.1f} s from that to "
        f"{'the end of the process' if budget.charged_until == 'process_end' else 'where the clock stops'}"
    )
    evidence = {"charged": charge.total, "budget": budget.train_seconds, "left": left, "start_up": time.start_up}
    yield finding(RUN014 if left < 0 else RUN015, message, lane=run.lane.value, evidence=evidence)
