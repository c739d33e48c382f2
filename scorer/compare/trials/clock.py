"""The clock trial: the contest's whole budget on virtual clocks that follow scripts, in seconds of real time.

The budget is cut into the profile's `clock_trial.updates`, so that a program which goes by the clock makes about that
many. Each script is one run. Charged seconds follow from the clock by the contest's rules, not from what the program
says; what the program made of its time is judged by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from scorer.artifact import Artifact
from scorer.compare import own_count
from scorer.compare.case import Case
from scorer.compare.clock import RUN014, RUN015, Charge, charged
from scorer.compare.trials import schedule
from scorer.compare.trials.result import Bar, Limit, Picture, Trial, conclude
from scorer.contest import ClockScript, Profile
from scorer.findings import Finding, define, finding
from scorer.room.lane import NO_CHECKPOINT, LaneSpec
from scorer.room.receipts import Clock, Lane, Outcome, Receipt, Timeline, TimeSplit
from scorer.rules.clocks import training_loops
from scorer.rules.source import Source

RUN031 = define(
    "RUN031",
    title="The ranks decide by themselves when to stop",
    why="Their clocks never agree; the first one that stops leaves the others waiting for it, and the run is lost.",
    remedy="Let one rank decide and broadcast it, or reduce the decision over all ranks, before every update.",
)

COLUMNS = ["script", "s/update", "updates", "start-up", "charged", "margin", "saved", "losses", "verdict"]
OVERDUE = 1.2  # a run is ended when so many times the budget are charged
PARTS = 1 << 10  # of a second
COMPILES_AT, STALLS_AT = 0.5, 0.75  # shares of the charged updates

Run = Callable[[Sequence[tuple[str, LaneSpec]]], list[Receipt]]
"""Runs lanes, several at once where the machine has the cores, each under its name."""


@dataclass(frozen=True)
class Measured:
    """A run by the contest's clock."""

    time: TimeSplit
    charge: Charge
    margin: float  # seconds of the budget that are left
    is_over: bool  # whether it was still training when it was ended


def clock_of(script: ClockScript, profile: Profile, seconds_per_update: float | None = None) -> Clock:
    """The clock of a script. A slower host is slower in everything: start-up, updates, misfortunes, saves."""
    trial, budget, factor = profile.clock_trial, profile.budget, 1 + script.slower
    each = _exact((seconds_per_update or budget.train_seconds / trial.updates) * factor)
    start_up, first = script.start_up_seconds - trial.unseen_seconds, budget.startup_updates_excluded
    # The first update compiles: it takes nine tenths of the start-up that the program sees.
    shares = [0.9, *[0.1 / (first - 1)] * (first - 1)] if first > 1 else [1.0] * first
    lengths = {update: _exact(start_up * share * factor) for update, share in enumerate(shares)}
    charged_updates = budget.train_seconds / each
    for share, seconds in ((COMPILES_AT, script.compile_seconds), (STALLS_AT, script.stall_seconds)):
        if seconds:
            lengths[first + int(charged_updates * share)] = each + _exact(seconds * factor)
    before = _exact(trial.unseen_seconds * factor + (0 if first else start_up * factor))
    return Clock(
        kind="virtual",
        seconds_per_update=each,
        timeline=Timeline(
            name=script.name,
            before_seconds=before,
            lengths=sorted(lengths.items()),
            save_seconds=_exact((script.save_seconds or trial.save_seconds) * factor),
            evaluation_seconds=_exact(script.evaluation_seconds * factor),
            skew_seconds=script.skew_updates * each,
            limit_seconds=script.start_up_seconds * factor + budget.train_seconds * OVERDUE,
        ),
    )


def _exact(seconds: float) -> float:
    """The nearest time whose sums and differences floats hold exactly: equal intervals look equal at any hour."""
    return round(seconds * PARTS) / PARTS


def measured(receipt: Receipt, profile: Profile) -> Measured | None:
    """What the contest's clock makes of a run; None where rank 0 made no update."""
    shown = [rank.scripted for rank in receipt.ranks if rank.scripted is not None]
    if not shown or not shown[0].ticks:
        return None
    ticks, budget = shown[0].ticks, profile.budget
    excluded = min(budget.startup_updates_excluded, len(ticks))
    start_up, last = ticks[excluded - 1].seconds if excluded else 0.0, ticks[-1].seconds
    ends = [each.end_seconds for each in shown]
    known = [end for end in ends if end is not None]
    is_over = len(known) < len(ends)
    end = last if is_over else max(known) + profile.clock_trial.exit_seconds
    time = TimeSplit(start_up=start_up, train=last - start_up, tail=end - last, total=end)
    charge = charged(time, budget)
    return Measured(time, charge, budget.train_seconds - charge.total, is_over)


def run_trial(
    artifact: Artifact, profile: Profile, spec: LaneSpec, run: Run, seconds_per_update: float | None = None
) -> Trial:
    """Run every script of the profile. `spec` is the artifact lane's."""
    scripts = {script.name: script for script in profile.clock_trial.scripts}
    specs = [
        (name, replace(spec, clock=clock_of(script, profile, seconds_per_update), compared=False))
        for name, script in scripts.items()
    ]
    runs = dict(zip(scripts, run(specs), strict=True))
    findings: list[Finding] = []
    rows: list[list[str]] = []
    plan = runs[next(iter(runs))]
    for name, receipt in runs.items():
        case = Case(artifact, {Lane.ARTIFACT: receipt}, profile)
        found = [*_judge(case, name, scripts[name], receipt, plan)]
        findings += found
        rows.append(_row(name, receipt, profile, plan, found))
    findings += schedule.judge(Case(artifact, {}, profile), scripts, runs)
    each = clock_of(next(iter(scripts.values())), profile, seconds_per_update).seconds_per_update
    return conclude(
        artifact,
        spec.plan.text,
        profile,
        _once(findings),
        f"stops in time, saves, and leaves at least {_least(runs, profile):.1f} s of "
        f"{profile.budget.train_seconds:g} s in {len(runs)} scripts",
        trial="clock",
        facts={
            "budget": f"{profile.budget.train_seconds:g} s, of which {profile.budget.reserve_seconds:g} s stay free",
            "start-up": f"{profile.budget.startup_allowance_seconds:g} s are free, launch to the end of update "
            f"{profile.budget.startup_updates_excluded}",
            "update": f"{each:g} s, {profile.budget.train_seconds / (each or 1):.0f} to the budget",
        },
        columns=COLUMNS,
        rows=rows,
        picture=_picture(runs, profile),
    )


def _picture(runs: Mapping[str, Receipt], profile: Profile) -> Picture | None:
    """What each run was charged, against the budget."""
    results = {name: measured(receipt, profile) for name, receipt in runs.items()}
    bars = [Bar(label=name, value=result.charge.total) for name, result in results.items() if result is not None]
    budget = profile.budget
    limits = [
        Limit(name="the budget less the reserve", value=budget.train_seconds - budget.reserve_seconds),
        Limit(name="the budget", value=budget.train_seconds),
    ]
    return Picture(title="Charged seconds", unit="s", form=".1f", bars=bars, limits=limits) if bars else None


def _judge(case: Case, name: str, script: ClockScript, receipt: Receipt, plan: Receipt) -> Iterator[Finding]:
    at = f"script {name!r}"
    if script.skew_updates and plan.outcome is Outcome.COMPLETE and (apart := _apart(receipt)) is not None:
        yield finding(
            RUN031,
            f"{at}: every second rank's clock is at times {script.skew_updates:g} updates ahead, and {apart}",
            lane=receipt.lane.value,
            evidence={"script": name},
            **_decision(case, receipt),
        )
        return
    result = measured(receipt, case.profile)
    if receipt.outcome is not Outcome.COMPLETE or result is None:
        yield from (Finding.model_validate(found) for found in receipt.observed_findings)
        return
    if any(found["code"] == NO_CHECKPOINT for found in receipt.observed_findings):
        yield from (Finding.model_validate(f) for f in receipt.observed_findings if f["code"] == NO_CHECKPOINT)
    yield from _counted(case, script, receipt, result, receipt is plan)
    budget = case.profile.budget
    if result.margin >= budget.reserve_seconds:
        return
    over = result.margin < 0
    left = f"{-result.margin:.2f} s over" if over else f"{result.margin:.2f} s left, less than the reserve of"
    reserve = "" if over else f" {budget.reserve_seconds:g} s"
    told = "it was still training when" if result.is_over else ""
    yield finding(
        RUN014 if over else RUN015,
        f"{at}: {told} {result.charge.total:.2f} s were charged of {budget.train_seconds:g} s, {left}{reserve}: "
        f"{result.charge.start_up:.2f} s of start-up beyond the allowance, {result.charge.train:.2f} s of training, "
        f"{result.charge.tail:.2f} s from the last update to the end".replace(":  ", ": "),
        lane=receipt.lane.value,
        evidence={"script": name, "charged": result.charge.total, "margin": result.margin},
        **_decision(case, receipt),
    )


def _counted(case: Case, script: ClockScript, receipt: Receipt, result: Measured, planned: bool) -> Iterator[Finding]:
    """The program's own count at its end, which is exact here. Only of the plan it is said that it counts too much: in
    the others a margin for what the program cannot see may be spent.
    """
    if result.is_over or result.charge.tail < case.profile.clock_trial.exit_seconds:
        return
    ours = result.charge.total - case.profile.clock_trial.exit_seconds
    seconds = receipt.clock.timeline if receipt.clock else None
    parts = {own_count.EXCESS: result.charge.start_up, own_count.START_UP: result.time.start_up}
    if seconds is not None:
        parts |= {"the save": seconds.save_seconds, "the evaluation": seconds.evaluation_seconds}
    high = case.profile.budget.reserve_seconds if planned else None
    at, time = f"script {script.name!r}: ", result.time
    for found in (
        *own_count.judge(case, receipt, ours, parts, low=own_count.SAME, high=high, at=at),
        *own_count.judge_training(case, receipt, time.train, time.total, case.profile.budget.reserve_seconds, at=at),
    ):
        yield found.model_copy(update={"evidence": {"script": script.name, **found.evidence}})


def _apart(receipt: Receipt) -> str | None:
    """How the ranks of a run parted; None where they stayed together."""
    made = {rank.rank: len(rank.scripted.ticks) if rank.scripted else 0 for rank in receipt.ranks}
    if receipt.outcome is Outcome.COMPLETE and len(set(made.values())) < 2:
        return None
    told = ", ".join(f"rank {rank} made {count}" for rank, count in made.items())
    return f"{told} updates; the run {receipt.outcome.value}"


def _decision(case: Case, receipt: Receipt) -> dict[str, object]:
    """The place where it is decided to stop: the last clock read between the last update and the save; where the clock
    was not asked there, the training loop.
    """
    for rank in receipt.ranks:
        if rank.scripted is not None and (sites := rank.scripted.last_reads):
            return case.at_site(receipt, sites[-1])
    loops = training_loops(Source(case.artifact.source, case.profile.launch.script))
    return case.at(loops[0][0].lineno if loops else None)


def _once(findings: Sequence[Finding]) -> list[Finding]:
    """Of each code and place the first, with the other scripts that raised it: they have one cause."""
    kept: dict[tuple[str, str, int | None], Finding] = {}
    also: dict[tuple[str, str, int | None], list[str]] = {}
    for found in findings:
        key = found.code, str(found.place), found.artifact_line
        if key in kept:
            also.setdefault(key, []).append(str(found.evidence.get("script", "")))
        else:
            kept[key] = found
    return [
        found.model_copy(update={"evidence": {**found.evidence, "also in": also[key]}}) if key in also else found
        for key, found in kept.items()
    ]


def _row(name: str, receipt: Receipt, profile: Profile, plan: Receipt, found: Sequence[Finding]) -> list[str]:
    result = measured(receipt, profile)
    each = receipt.clock.seconds_per_update if receipt.clock else None
    parts = None if receipt is plan else schedule.parting(plan, receipt)
    return [
        name,
        f"{each or 0:g}",
        str(max((len(rank.updates) for rank in receipt.ranks), default=0)),
        f"{result.time.start_up:.1f}" if result else "",
        f"{result.charge.total:.2f}" if result else "",
        f"{result.margin:.2f}" if result else "",
        "yes" if receipt.checkpoint else "no",
        "" if receipt is plan else "as planned" if parts is None else f"other from update {parts}",
        ", ".join(sorted({one.code for one in found})) or "ok",
    ]


def _least(runs: Mapping[str, Receipt], profile: Profile) -> float:
    return min((result.margin for receipt in runs.values() if (result := measured(receipt, profile))), default=0.0)
