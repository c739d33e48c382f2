"""The contest's clock: how much of the budget a run on the real clock was charged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scorer.compare.case import Case
from scorer.contest import Budget
from scorer.findings import Finding, Severity, define, finding
from scorer.room.receipts import Receipt, TimeSplit

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
    """Findings about the artifact's run, where it had the real clock; a virtual clock says nothing of the budget."""
    run = case.artifact_lane
    if run is None or run.time is None or run.clock is None or run.clock.kind != "real":
        return []
    return [*_judge(run, run.time, case.profile.budget)]


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
