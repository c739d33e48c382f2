"""The environment trial: a reaction to a variable is found, with the variable and the line that reads it.

Programs are modelled as functions of the variables that a run has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from parity_tests import receipts_factory
from parity_tests.room_programs import line_of, plan
from scorer.artifact import Artifact
from scorer.compare.trials import environment, variables
from scorer.compare.trials.result import Trial
from scorer.contest import load
from scorer.room.lane import LaneSpec
from scorer.room.receipts import Clock, Event, Lane, Outcome, Receipt, Site
from scorer.trusted.purity.surroundings import OBEYED

SOURCE = """import os
def main():
    depth = int(os.environ.get("DEPTH", "4"))
    mode = os.getenv("MODE")
    if mode == "fast":
        pass
    os.environ.setdefault("NEURON_CC_FLAGS", "--optlevel=1")
    optimizer.step()
"""
PROFILE = load("embedded")
LINES = {name: line_of(SOURCE, f'"{name}"') for name in ("DEPTH", "MODE", "NEURON_CC_FLAGS")}
Environment = Mapping[str, str]
# How a run comes out under its variables; whatever differs between two of them is another run.
Outcomes = Callable[[Environment], object]


def program(reacts: Outcomes, *, source: str = SOURCE, sees_weights: bool = True, flags: bool = False) -> Trial:
    """Run the trial over a modelled program, which has read DEPTH in its run."""
    artifact = Artifact(Path("train.py"), source, plan().text, None, "aa" * 32, None)
    spec = LaneSpec(Lane.ARTIFACT, plan(), artifact, Clock(kind="virtual", seconds_per_update=0.5))

    def run(_name: str, spec: LaneSpec) -> Receipt:
        made = receipts_factory.receipt(Lane.ARTIFACT)
        start = {"LANG": "C.UTF-8", "PATH": "/bin", "RANK": "0", **spec.imposed}
        held = {name: value for name, value in start.items() if value is not None}
        told = reacts(held)
        if isinstance(told, Exception):
            return made.model_copy(update={"outcome": Outcome.FAILED, "problem": str(told), "checkpoint": None})
        result = (told, spec.perturb and sees_weights)
        for rank in made.ranks:
            rank.environment_start = held
            rank.environment_end = held if not flags else {"NEURON_CC_FLAGS": "--optlevel=1", **held}
            rank.events = [
                Event(kind="read-environment", detail="DEPTH", site=Site(file="train.py", line=LINES["DEPTH"]))
            ]
            if flags:
                site = Site(file="train.py", line=LINES["NEURON_CC_FLAGS"])
                rank.events.append(Event(kind="set-environment", detail="NEURON_CC_FLAGS", site=site))
            rank.updates[2].losses = [receipts_factory.digest(result)]
        return made

    return environment.run_trial(artifact, PROFILE, spec, run)


def told(trial: Trial) -> list[tuple[str, str, int | None]]:
    return [(found.code, str(found.evidence.get("variable")), found.artifact_line) for found in trial.findings]


def test_a_program_that_reacts_to_nothing_passes_in_a_few_runs() -> None:
    trial = program(lambda _: None)
    assert (trial.verdict, trial.findings) == ("pass", [])
    # As it is, the control, hostile with "1", "0" and "fast" (which MODE is compared with), and taken away.
    assert len(trial.rows) == 6
    assert trial.rows[1][-1] != "none"


@pytest.mark.parametrize(
    ("reacts", "variable", "line"),
    [
        (lambda e: e.get("DEPTH", "4"), "DEPTH", LINES["DEPTH"]),
        (lambda e: ValueError("no number") if e.get("DEPTH") == "fast" else None, "DEPTH", LINES["DEPTH"]),
        (lambda e: e.get("MODE") == "fast", "MODE", LINES["MODE"]),
        (lambda e: e.get("XLA_USE_BF16"), "XLA_USE_BF16", None),  # a library's, which no line reads
        (lambda e: e.get("LANG"), "LANG", None),
    ],
    ids=["a knob", "a crash", "a word", "a library", "one that is there"],
)
def test_a_reaction_is_found_with_its_variable_and_line(reacts: Outcomes, variable: str, line: int | None) -> None:
    trial = program(reacts)
    assert trial.verdict == "fail"
    assert told(trial) == [("ENV006", variable, line)]
    assert len(trial.rows) < 20


def test_several_reactions_are_all_found() -> None:
    trial = program(lambda e: (e.get("DEPTH"), e.get("TZ")))
    assert {(code, variable) for code, variable, _ in told(trial)} == {("ENV006", "DEPTH"), ("ENV006", "TZ")}


def test_a_setting_that_gives_way_is_found_though_nothing_on_this_machine_obeys_it() -> None:
    trial = program(lambda _: None, flags=True)
    assert told(trial) == [("ENV007", "NEURON_CC_FLAGS", LINES["NEURON_CC_FLAGS"])]


def test_what_the_launcher_owns_and_the_launch_string_sets_is_left_alone() -> None:
    seen: dict[str, str] = {}
    program(lambda e: seen.update(e))
    assert seen["RANK"] == "0"
    assert seen["PATH"] == "/bin"
    assert "NEURON_LOGICAL_NC_CONFIG" not in seen  # the lane sets it from the launch string
    assert "NEURON_LOGICAL_NC_CONFIG" in variables.known()
    assert OBEYED.isdisjoint(variables.known())


def test_a_program_that_differs_from_run_to_run_is_told_as_such() -> None:
    runs: list[int] = []
    trial = program(lambda _: runs.append(1) or len(runs))
    assert next(code for code, _, _ in told(trial)) == "ENV008"


def test_a_control_that_does_not_show_leaves_the_trial_open() -> None:
    trial = program(lambda _: None, sees_weights=False)
    assert (trial.verdict, [found.code for found in trial.findings]) == ("inconclusive", ["CTL001"])


def test_the_clock_jumps_past_the_budget_behind_the_window() -> None:
    clock = environment.trial_clock(PROFILE)
    assert clock.timeline is not None
    ((update, seconds),) = clock.timeline.lengths
    assert update >= PROFILE.lockstep.window_updates - 1
    assert seconds > PROFILE.budget.train_seconds
