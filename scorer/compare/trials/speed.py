"""The speed trial: recipe and artifact raced, round by round, until it is known whether the artifact is slower by more
than the profile's limit; and by what, if it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from scorer.artifact import Artifact
from scorer.compare import kernels, operators
from scorer.compare.case import Case
from scorer.compare.trials.growth import grown
from scorer.compare.trials.interval import Interval, interval, log_ratio, looks
from scorer.compare.trials.result import Bar, Limit, Picture, Trial, conclude
from scorer.contest import Profile
from scorer.findings import Finding, Severity, define, finding
from scorer.room.race import Course, Race
from scorer.room.receipts import Lane, Outcome, Receipt

SPD001 = define(
    "SPD001",
    title="The artifact is slower than the recipe",
    why="In a fixed time it makes fewer updates, though every number agrees: a flag that was not carried over, a "
    "kernel that fell back, work that the build left in.",
    remedy="Look at the operator or line named, and at the flag or branch that decides there.",
)
SPD002 = define(
    "SPD002",
    title="The artifact is faster than the recipe",
    why="The builder removes decided branches, which saves next to nothing: more means that other work is done.",
    remedy="Run the parity comparison; look at what the artifact no longer does.",
    severity=Severity.ADVICE,
)

COUNTED = 3  # updates of each program and round whose operators are counted
FEWEST_UPDATES = 8  # of each program: a round with fewer says nothing
COLUMNS = ["round", "first", "updates", "recipe s", "artifact s", "processor", "wall"]

Measure = Literal["wall", "processor"]
Run = Callable[[int, Course], Race]
"""Runs the round of that number, of recipe and artifact in this order. In every odd one the artifact goes first."""


@dataclass(frozen=True)
class _Shown:
    """Where the ratio lies after the last round, by the measure that decides or by the one that showed it."""

    interval: Interval
    measure: Measure
    decision: str


def course(profile: Profile) -> Course:
    """What each program runs in a round."""
    trial, budget = profile.speed_trial, profile.budget
    return Course(
        start_up=max(1, budget.startup_updates_excluded),
        start_up_seconds=budget.run_timeout_seconds,
        counted=COUNTED,
        by_processor=trial.measure == "processor",
        timed=trial.updates,
        together=trial.together,
    )


def run_trial(artifact: Artifact, profile: Profile, launch: str, run: Run) -> Trial:
    """Run rounds until it is decided, or until the profile's most rounds are run."""
    trial = profile.speed_trial
    fewest, most = (int(number) for number in trial.rounds)
    at, lap = looks(fewest, most), course(profile)
    logs: dict[Measure, list[float]] = {"wall": [], "processor": []}
    cases: list[Case] = []
    rows: list[list[str]] = []
    shown: _Shown | None = None
    findings: list[Finding] = []
    question = ""
    spent = longest = 0.0
    for number in range(most):
        raced = run(number, lap)
        case = Case(artifact, {Lane.LOCAL: raced.receipts[0], Lane.ARTIFACT: raced.receipts[1]}, profile)
        if (question := _unusable(number, raced, profile)) != "":
            findings = [*_failures(raced)]
            break
        cases.append(case)
        rows.append(_row(number, raced, logs))
        took = _seconds(raced, trial.together)
        spent, longest = spent + took, max(longest, took)
        out_of_time = number > 0 and spent + longest > trial.seconds
        if number + 1 in at or out_of_time:
            shown = _shown(logs, profile, len(at) + 1)  # one look more, where the time is over
            if out_of_time or shown.decision != "undecided":
                break
    changed = _changed(cases[0]) if cases else None
    told_operators = "not counted" if not cases else "the same in both" if changed is None else changed.message
    passed = ""
    if shown is not None and question == "":
        told = f"{shown.interval} the recipe's {_named(shown.measure)}, {_sure(shown, profile)}"
        if shown.decision == "undecided":
            question = (
                f"not decided: {told}, neither excludes a slowdown by {100 * trial.limit:g} % nor shows one; about "
                f"{shown.interval.rounds_to_decide(trial.limit)} rounds would decide (speed_trial.rounds "
                f"and seconds)"
            )
        findings = [*_judge(shown, cases, changed, told)]
        passed = f"the artifact's update takes {told}: a slowdown by {100 * trial.limit:g} % is excluded"
    return conclude(
        artifact,
        launch,
        profile,
        findings,
        passed,
        question,
        trial="speed",
        facts={
            "limit": f"{100 * trial.limit:g} %, by {_named(trial.measure)}",
            "round": f"one run of each program, {'in turns' if trial.together else 'one after the other'}, "
            f"{trial.updates} timed updates after {lap.start_up + COUNTED}",
            "operators": told_operators,
        },
        columns=COLUMNS,
        rows=rows,
        picture=_picture(logs, shown, profile),
    )


def _picture(logs: Mapping[Measure, list[float]], shown: _Shown | None, profile: Profile) -> Picture | None:
    """How much slower the artifact was in each round, and over all of them, in per cent."""
    measure: Measure = profile.speed_trial.measure if shown is None else shown.measure
    bars = [Bar(label=f"round {n}", value=100 * math.expm1(log)) for n, log in enumerate(logs[measure], 1)]
    if shown is not None:
        middle, low, high = (
            100 * math.expm1(log) for log in (shown.interval.middle, shown.interval.low, shown.interval.high)
        )
        bars.append(Bar(label="all rounds", value=middle, low=low, high=high))
    limit = Limit(name="a slowdown that counts", value=100 * profile.speed_trial.limit)
    title = f"How much more {_named(measure)} an update of the artifact takes"
    return Picture(title=title, unit="%", form="+.2f", bars=bars, limits=[limit]) if bars else None


def _seconds(raced: Race, together: bool) -> float:
    totals = [receipt.time.total if receipt.time else 0.0 for receipt in raced.receipts]
    return max(totals) if together else sum(totals)


def _unusable(number: int, raced: Race, profile: Profile) -> str:
    """Why a round cannot be used; empty where it can."""
    for receipt in raced.receipts:
        if receipt.outcome is not Outcome.COMPLETE:
            return f"round {number + 1}: the {receipt.lane.value} run {receipt.outcome.value}: {receipt.problem}"
    made = min(map(len, raced.timed))
    if made >= FEWEST_UPDATES:
        return ""
    wanted = course(profile).start_up + COUNTED + profile.speed_trial.updates
    ended = " and ".join(f"{max(_updates(r), default=0)} ({r.lane.value})" for r in raced.receipts)
    return (
        f"round {number + 1}: {made} updates could be timed, the programs made {ended} in all; let both make {wanted} "
        f"or more (a fixed number of steps, the budget), and end every update on all ranks with the kit's "
        f"{profile.kit.functions.step_boundary}"
    )


def _updates(receipt: Receipt) -> list[int]:
    return [len(rank.updates) for rank in receipt.ranks]


def _failures(raced: Race) -> Iterator[Finding]:
    for receipt in raced.receipts:
        if receipt.outcome is not Outcome.COMPLETE:
            yield from (Finding.model_validate(found) for found in receipt.observed_findings)


def _row(number: int, raced: Race, logs: dict[Measure, list[float]]) -> list[str]:
    """A round's row; its log ratios are added to `logs`."""
    pairs = [*zip(*raced.timed, strict=False)]
    wall = [(here.seconds, there.seconds) for here, there in pairs]
    processor = [(here.processor_seconds, there.processor_seconds) for here, there in pairs]
    logs["wall"].append(log_ratio(*zip(*wall, strict=True)))
    logs["processor"].append(log_ratio(*zip(*processor, strict=True)))
    medians = [sorted(times)[len(times) // 2] for times in zip(*wall, strict=True)]
    return [
        str(number + 1),
        "artifact" if number % 2 else "recipe",
        str(len(pairs)),
        *(f"{seconds:.4f}" for seconds in medians),
        *(f"{100 * math.expm1(logs[measure][-1]):+.2f} %" for measure in ("processor", "wall")),
    ]


def _shown(logs: dict[Measure, list[float]], profile: Profile, looked: int) -> _Shown:
    """What the rounds show: a slowdown by either measure, else what the profile's own says. The error is split between
    both.
    """
    trial = profile.speed_trial
    other: Measure = "wall" if trial.measure == "processor" else "processor"
    at = {measure: interval(values, trial.confidence, 2 * looked) for measure, values in logs.items()}
    decisions = {measure: found.decide(trial.limit) for measure, found in at.items()}
    if decisions[trial.measure] != "slower" and decisions[other] == "slower":
        return _Shown(at[other], other, "slower")
    return _Shown(at[trial.measure], trial.measure, decisions[trial.measure])


def _judge(shown: _Shown, cases: Sequence[Case], changed: Finding | None, told: str) -> Iterator[Finding]:
    if shown.decision not in ("slower", "faster"):
        return
    grew = grown(cases) if shown.decision == "slower" else []
    because = "both are made of the same operators and kernels" if changed is None else changed.message
    most = f"; what grew most: {'; '.join(map(str, grew[:2]))}" if grew else ""
    place, line = (changed.place, changed.artifact_line) if changed else (grew[0].place if grew else None, None)
    found = shown.interval
    yield finding(
        SPD001 if shown.decision == "slower" else SPD002,
        f"an update takes {told}: {because}{most}",
        place=place,
        artifact_line=line,
        lane=Lane.ARTIFACT.value,
        evidence={
            "measure": shown.measure,
            "log ratio": found.middle,
            "low": found.low,
            "high": found.high,
            "changed": changed.evidence if changed else {},
            "grew": [str(one) for one in grew],
        },
    )


def _changed(case: Case) -> Finding | None:
    """The kernel or operator in which the programs of a round differ."""
    return next(iter([*kernels.compare(case), *operators.compare(case)]), None)


def _sure(shown: _Shown, profile: Profile) -> str:
    return f"{100 * profile.speed_trial.confidence:g} % sure, {shown.interval.rounds} rounds"


def _named(measure: Measure) -> str:
    return "time" if measure == "wall" else "processor time"
