"""The clock trial: who stops in time is told from who does not, by the contest's own rules.

Programs are modelled here as functions over the clock that their script gives them; the observer's clock is tested in
test_observer_clock.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from parity_tests import receipts_factory
from parity_tests.room_programs import plan
from scorer.artifact import Artifact
from scorer.compare.trials.clock import clock_of, run_trial
from scorer.compare.trials.result import Trial
from scorer.contest import ClockScript, Profile, load
from scorer.findings import finding
from scorer.room.lane import NO_CHECKPOINT, LaneSpec
from scorer.room.receipts import Clock, Lane, Outcome, Receipt, ScriptedTime, Site, Tick, Update

SOURCE = """import time
def main():
    for step in range(1000):
        progress = time.monotonic()
        loss.backward()
        optimizer.step()
"""
SITE = Site(file="train.py", line=4)


@dataclass
class Program:
    """A model of a program that goes by the clock, with the faults that such programs have."""

    reserve: float = 5.0
    margin: float = 10.0
    steps: int | None = None  # stops after so many, whatever the clock says
    charges_start_up: bool = True
    evaluates: bool = False
    saves: bool = True
    counts_start_up: bool = False  # as progress
    broadcasts: bool = True  # one rank's decision to stop
    prints_before_saving: bool = False
    tells: float = 1.0  # times the seconds that it trained

    def run(self, clock: Clock, profile: Profile, rank: int) -> tuple[list[Tick], list[Update], float | None]:
        line, each, budget = clock.timeline, clock.seconds_per_update, profile.budget
        assert line is not None
        assert line.limit_seconds is not None
        assert each is not None
        lengths = dict(line.lengths)
        now = started = line.before_seconds
        ticks: list[Tick] = []
        updates: list[Update] = []
        start_up_end, last = None, 0.0
        while True:
            begun = now if start_up_end is None else start_up_end
            excess = begun - started + self.margin - budget.startup_allowance_seconds
            charged = (max(0.0, excess) if self.charges_start_up else 0.0) + now - begun
            ahead = line.skew_seconds if rank % 2 and not self.broadcasts and len(ticks) % 2 == 0 else 0.0
            stop = budget.train_seconds - charged - ahead < (last if start_up_end else 0.0) + self.reserve
            if len(ticks) == self.steps or (self.steps is None and stop):
                break
            rate = now - started if self.counts_start_up else charged
            last = lengths.get(len(ticks), each)
            now += last
            ticks.append(Tick(update=len(ticks), seconds=now, reads=[SITE]))
            updates.append(Update(update=len(updates), losses=[rate.hex()], seconds=0.1))
            if len(ticks) == budget.startup_updates_excluded:
                start_up_end = now
            if now >= line.limit_seconds:
                return ticks, updates, None
        now += line.evaluation_seconds if self.evaluates else 0.0
        return ticks, updates, now + (line.save_seconds if self.saves else 0.0)

    def receipt(self, clock: Clock, profile: Profile) -> Receipt:
        made = receipts_factory.receipt(Lane.ARTIFACT)
        for rank in made.ranks:
            ticks, rank.updates, end = self.run(clock, profile, rank.rank)
            rank.scripted = ScriptedTime(ticks=ticks, end_seconds=end, last_reads=[] if self.steps else [SITE])
        counts = {len(rank.updates) for rank in made.ranks}
        end = made.ranks[0].scripted.end_seconds if made.ranks[0].scripted else None
        changes: dict[str, object] = {"clock": clock, "summary": self.summary(made, clock, profile)}
        if len(counts) > 1:
            changes |= {"outcome": Outcome.FAILED, "checkpoint": None, "problem": "rank 1: connection closed"}
        elif end is None or not self.saves:
            changes |= {"checkpoint": None}
            if end is not None:
                lost = finding(NO_CHECKPOINT, "artifact lane: out/final.pt is not there after the run")
                changes |= {"observed_findings": [lost.model_dump(mode="json")]}
        return made.model_copy(update=changes)

    def summary(self, made: Receipt, clock: Clock, profile: Profile) -> dict[str, str]:
        """The program's own count, as it prints it."""
        line, shown, budget = clock.timeline, made.ranks[0].scripted, profile.budget
        if line is None or shown is None or shown.end_seconds is None:
            return {}
        begun = shown.ticks[budget.startup_updates_excluded - 1].seconds
        excess = max(0.0, begun - line.before_seconds + self.margin - budget.startup_allowance_seconds)
        end = shown.end_seconds - (line.save_seconds if self.prints_before_saving else 0.0)
        count = (excess if self.charges_start_up else 0.0) + end - begun
        return {"charged_seconds_est": repr(count), "over_budget": str(count > budget.train_seconds)} | {
            "training_seconds": repr(self.tells * (end - line.before_seconds))
        }


def trial(program: Program, *names: str, contest: str = "embedded") -> Trial:
    profile = load(contest)
    scripts = [script for script in profile.clock_trial.scripts if not names or script.name in ("as planned", *names)]
    chosen = profile.model_copy(update={"clock_trial": profile.clock_trial.model_copy(update={"scripts": scripts})})
    artifact = Artifact(Path("train.py"), SOURCE, plan().text, None, "aa" * 32, None)
    spec = LaneSpec(Lane.ARTIFACT, plan(2), artifact, Clock(kind="virtual", seconds_per_update=0.5))

    def run(specs: Sequence[tuple[str, LaneSpec]]) -> list[Receipt]:
        return [program.receipt(spec.clock, chosen) for _, spec in specs]

    return run_trial(artifact, chosen, spec, run)


def told(seen: Trial) -> list[tuple[str, int | None, str]]:
    return [(found.code, found.artifact_line, str(found.evidence.get("script"))) for found in seen.findings]


def column(seen: Trial, name: str) -> dict[str, str]:
    return {row[0]: row[seen.columns.index(name)] for row in seen.rows}


def test_a_clean_program_passes_every_script_and_its_margin_is_the_contests() -> None:
    seen = trial(Program())
    assert (seen.verdict, seen.findings) == ("pass", [])
    # It stops with 5 s to spare at the least, less a save of 0.25 s (or 2 s) and an exit of 0.5 s; updates take 2 s.
    margin = column(seen, "margin")
    assert (margin["as planned"], margin["longer start-up"], margin["slow save"]) == ("5.25", "5.25", "3.50")
    assert column(seen, "start-up")["start-up over the allowance"] == "31.0"
    assert set(column(seen, "saved").values()) == {"yes"}
    assert set(column(seen, "verdict").values()) == {"ok"}
    losses = column(seen, "losses")
    assert losses["longer start-up"] == "as planned"  # free, and not counted
    assert losses["host slower by 12 %"].startswith("other from update")  # charged, and told


def test_a_clean_program_passes_the_trainium_contests_scripts() -> None:
    seen = trial(Program(reserve=15.0, margin=30.0), contest="trainium-frontier-phase1")
    assert (seen.verdict, seen.findings) == ("pass", [])
    assert column(seen, "start-up")["start-up over the allowance"] == "905.0"


FAULTS: dict[str, tuple[Program, str, str, int | None]] = {
    "a fixed number of steps on a slow host": (Program(steps=33), "host slower by 12 %", "RUN014", 3),
    "a save longer than the reserve": (Program(reserve=0.5), "slow save", "RUN014", 4),
    "a save that uses most of the reserve": (Program(reserve=3.0), "slow save", "RUN015", 4),
    "start-up over the allowance not charged": (
        Program(charges_start_up=False, reserve=1.0),
        "start-up over the allowance",
        "RUN015",
        4,
    ),
    "an evaluation that nobody counts": (Program(evaluates=True), "slow evaluation", "RUN014", 4),
    "nothing saved": (Program(saves=False), "longer start-up", "RUN007", None),
    "ranks that ask clocks of their own": (Program(broadcasts=False), "ranks whose clocks differ", "RUN031", 4),
    "a count without the start-up beyond the allowance": (
        Program(charges_start_up=False, margin=0.0),
        "start-up over the allowance",
        "RUN035",
        None,
    ),
    "a count without the save": (Program(prints_before_saving=True), "slow save", "RUN035", None),
    "a training time in milliseconds": (Program(tells=1000.0), "slow save", "RUN037", None),
    "a schedule by time since the launch": (Program(counts_start_up=True), "longer start-up", "RUN032", 4),
}


@pytest.mark.parametrize(("program", "script", "code", "line"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_is_told_with_its_script_and_line(program: Program, script: str, code: str, line: int | None) -> None:
    seen = trial(program, script)
    found = [one for one in seen.findings if one.code == code]
    assert found, seen.rows
    assert found[0].artifact_line == line
    assert seen.verdict == ("pass" if code in ("RUN015", "RUN032", "RUN035", "RUN037") else "fail")
    if code != "RUN032":
        assert code in column(seen, "verdict")[script]


@pytest.mark.parametrize(
    ("program", "script"),
    [(Program(steps=33), "host slower by 1 %"), (Program(broadcasts=False), "longer start-up")],
    ids=["a host as fast as planned", "ranks whose clocks agree"],
)
def test_a_fault_is_not_told_where_it_costs_nothing(program: Program, script: str) -> None:
    assert trial(program, script).findings == []


def test_the_program_s_own_count_is_exact_to_what_it_leaves_out() -> None:
    (excess,) = trial(Program(charges_start_up=False), "start-up over the allowance").findings
    assert excess.message.endswith("1.00 s too few, which is what the start-up beyond the allowance took")
    (save,) = trial(Program(prints_before_saving=True), "slow save").findings
    assert save.message.endswith("0.25 s too few, which is what the save took")
    assert save.evidence["also in"] == ["slow save"]


def test_a_program_that_never_stops_is_told_as_still_training() -> None:
    seen = trial(Program(steps=10_000), "slow save")
    assert [(found.code, "still training" in found.message) for found in seen.findings] == [("RUN014", True)]
    assert seen.findings[0].evidence["also in"] == ["slow save"]
    assert set(column(seen, "saved").values()) == {"no"}


def test_a_run_that_fails_is_told_by_the_rooms_own_findings() -> None:
    lost = finding("RUN001", "artifact lane: rank 0: ValueError: no")

    class Broken(Program):
        def receipt(self, clock: Clock, profile: Profile) -> Receipt:
            failed = {"outcome": Outcome.FAILED, "observed_findings": [lost.model_dump(mode="json")]}
            return super().receipt(clock, profile).model_copy(update=failed)

    assert [found.code for found in trial(Broken()).findings] == ["RUN001"]


def test_a_script_becomes_a_clock() -> None:
    profile = load("embedded")
    each = profile.budget.train_seconds / profile.clock_trial.updates
    script = ClockScript(name="all", start_up_seconds=15.0, slower=0.5, compile_seconds=8.0, save_seconds=2.0)
    clock = clock_of(script, profile)
    line = clock.timeline
    assert line is not None
    assert clock.seconds_per_update == 1.5 * each
    lengths = dict(line.lengths)
    assert line.before_seconds + sum(lengths[update] for update in range(5)) == pytest.approx(1.5 * 15.0, abs=0.01)
    assert lengths[5 + 10] == 1.5 * (each + 8.0)
    assert line.save_seconds == 3.0
    assert clock_of(script, profile, seconds_per_update=0.7).seconds_per_update == pytest.approx(0.7 * 1.5, abs=0.001)
