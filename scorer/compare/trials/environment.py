"""The environment trial: the artifact run with every variable that it could react to set to something hostile, and
with them taken away. The runs must be the same, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from scorer.artifact import Artifact
from scorer.compare.case import Case
from scorer.compare.control import CTL001
from scorer.compare.trials import variables
from scorer.compare.trials.differing import difference
from scorer.compare.trials.result import Trial, conclude
from scorer.contest import Profile
from scorer.findings import Finding, define, finding
from scorer.room.lane import LaneSpec
from scorer.room.observer.settings import VARIABLE
from scorer.room.receipts import Clock, Lane, Outcome, Receipt, Timeline

ENV006 = define(
    "ENV006",
    title="The program reacts to a variable of its machine",
    why="What is scored then depends on what somebody has exported, without a change in the file.",
    remedy="Make the value a knob of the configuration, which the builder freezes, and drop the read.",
)
ENV007 = define(
    "ENV007",
    title="A value from outside wins over the one that the program sets",
    why="The program runs with other compiler or runtime settings on a machine that has the variable set.",
    remedy="Assign the variable unconditionally (no setdefault, no appending), before its first use.",
)
ENV008 = define(
    "ENV008",
    title="The program differs from run to run under the same environment",
    why="Nothing can be said of what a variable changes where two equal runs are not the same.",
    remedy="Find what is not seeded or depends on time or order; then repeat the trial.",
)

MOST_CULPRITS = 4  # more are not looked for: each costs a few runs
MOST_TEXTS = 2  # values that a variable is compared with, beyond those that are numbers
COLUMNS = ["run", "variables", "updates", "checkpoint", "first difference"]

Imposed = Mapping[str, str | None]
Run = Callable[[str, LaneSpec], Receipt]
"""Runs a lane under a name that tells it from the others."""


@dataclass
class _Bench:
    """The artifact, how it is run, and the runs so far."""

    artifact: Artifact
    profile: Profile
    spec: LaneSpec
    run: Run
    rows: list[list[str]]

    def trial(self, name: str, imposed: Imposed, base: Receipt | None, **fields: object) -> tuple[Receipt, str | None]:
        """Run once; the receipt, and its first difference to `base`."""
        receipt = self.run(name, replace(self.spec, imposed=dict(imposed), **fields))  # type: ignore[arg-type]
        first = None if base is None else difference(base, receipt)
        updates = len(receipt.ranks[0].updates) if receipt.ranks else 0
        saved = receipt.checkpoint.sha256[:12] if receipt.checkpoint else "none"
        told = "" if base is None else first or "none"
        self.rows.append([name, str(len(imposed)) if imposed else "as they are", str(updates), saved, told])
        return receipt, first


def trial_clock(profile: Profile) -> Clock:
    """A lockstep clock that jumps past the budget once the window is over, so that a program which goes by the clock
    stops and saves; any other is ended two updates later.
    """
    seconds = profile.lockstep.virtual_seconds_per_update
    last = max(profile.lockstep.window_updates, profile.budget.startup_updates_excluded + 1) - 1
    jump = profile.budget.startup_allowance_seconds + profile.budget.train_seconds
    timeline = Timeline(
        name="environment trial",
        lengths=[(last, jump)],
        limit_seconds=(last + 2) * seconds + jump,
    )
    return Clock(kind="virtual", seconds_per_update=seconds, timeline=timeline)


def run_trial(artifact: Artifact, profile: Profile, spec: LaneSpec, run: Run) -> Trial:
    """Run the trial. `spec` is the artifact lane's; every other run differs from it in its variables alone."""
    bench = _Bench(artifact, profile, replace(spec, clock=trial_clock(profile)), run, [])
    base, _ = bench.trial("as it is", {}, None)
    case = Case(artifact, {Lane.ARTIFACT: base}, profile)
    if base.outcome is not Outcome.COMPLETE:
        found = [Finding.model_validate(one) for one in base.observed_findings]
        return _conclude(bench, found, "the run itself did not end well")
    findings: list[Finding] = []
    _, seen = bench.trial("control: a weight changed", {}, base, perturb=True)
    if seen is None:
        findings.append(
            finding(CTL001, "a weight was changed on purpose and the run came out the same", lane="control")
        )
    values = hostile(artifact, profile, spec, base)
    culprits: set[str] = set()
    for number, imposed in enumerate(values, 1):
        name = "hostile" if number == 1 else f"hostile, other values {number - 1}"
        findings += _judge(bench, case, name, imposed, base, culprits)
    findings += _judge(bench, case, "taken away", taken(profile, spec, base), base, culprits)
    names = {name for imposed in values for name in imposed}
    return _conclude(bench, findings, f"the same, bit for bit, under {len(names)} hostile variables and without them")


def hostile(artifact: Artifact, profile: Profile, spec: LaneSpec, base: Receipt) -> list[dict[str, str | None]]:
    """The variables of each hostile run. What a program reads is tried with several values, all of them at once."""
    lines = variables.read_lines(artifact)
    seen = {name: line for name, line in variables.read_in(base).items() if name != "*"}
    own = [name for name in {**lines, **seen} if variables.free(name, profile, spec.plan, VARIABLE)]
    others = {n: v for n, v in variables.known().items() if variables.free(n, profile, spec.plan, VARIABLE)}
    texts = variables.asked_for(artifact, [line for line in {**lines, **seen}.values() if line is not None])
    texts = [text for text in texts if text not in {**lines, **seen}][:MOST_TEXTS]  # not the name itself
    tried = [*variables.NUMBERS, *texts] if own else variables.NUMBERS[:1]
    return [{**others, **dict.fromkeys(own, value)} for value in tried]


def taken(profile: Profile, spec: LaneSpec, base: Receipt) -> dict[str, str | None]:
    """Every variable that the ranks started with and that a machine need not have."""
    names = {name for rank in base.ranks for name in rank.environment_start}
    return {n: None for n in sorted(names) if variables.free(n, profile, spec.plan, VARIABLE)}


def _judge(
    bench: _Bench, case: Case, name: str, imposed: Imposed, base: Receipt, culprits: set[str]
) -> Iterator[Finding]:
    """Findings of one run, which is repeated with fewer variables where it differs. `culprits` are those known."""
    rest = {variable: value for variable, value in imposed.items() if variable not in culprits}
    receipt, first = bench.trial(name, rest, base)
    yield from _overridden(case, base, receipt, culprits)
    for _ in range(MOST_CULPRITS):
        if first is None:
            return
        _, differs = bench.trial("as it is, again", {}, base)
        if differs is not None:
            yield finding(ENV008, f"two runs under the same environment differ: {differs}", lane=base.lane.value)
            return
        culprit = _culprit(bench, rest, base)
        place = _place(case, culprit, base, receipt)
        value = rest[culprit]
        how = f"{culprit} is taken away" if value is None else f"{culprit}={value!r} is set"
        yield finding(
            ENV006,
            f"where {how}, the run comes out different: {first}",
            lane=base.lane.value,
            evidence={"variable": culprit, "value": value, "difference": first},
            **place,
        )
        culprits.add(culprit)
        rest = {variable: value for variable, value in rest.items() if variable not in culprits}
        receipt, first = bench.trial(f"{name}, without {culprit}", rest, base)


def _culprit(bench: _Bench, imposed: Imposed, base: Receipt) -> str:
    """The one variable that makes the difference, by halves; those that the program reads are asked first."""
    read = {*variables.read_lines(bench.artifact), *variables.read_in(base)}
    first = [name for name in imposed if name in read]
    candidates = first if 0 < len(first) < len(imposed) else [*imposed]
    if candidates is first and bench.trial(f"of them, {_told(first)}", _part(imposed, first), base)[1] is None:
        candidates = [name for name in imposed if name not in read]
    while len(candidates) > 1:
        half = candidates[: len(candidates) // 2]
        differs = bench.trial(f"of them, {_told(half)}", _part(imposed, half), base)[1] is not None
        candidates = half if differs else candidates[len(half) :]
    return candidates[0]


def _part(imposed: Imposed, names: Sequence[str]) -> dict[str, str | None]:
    return {name: imposed[name] for name in names}


def _told(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def _overridden(case: Case, base: Receipt, receipt: Receipt, culprits: set[str]) -> Iterator[Finding]:
    """Variables that matter, which the program sets, and which end otherwise than in the run as it is."""
    for here, there in zip(base.ranks, receipt.ranks, strict=False):
        for event in here.events:
            name = event.detail
            before, after = here.environment_end.get(name), there.environment_end.get(name)
            cache = name in case.profile.environment.cache_directories
            if event.kind != "set-environment" or before == after or name in culprits or cache:
                continue
            effect = case.profile.environment.effect(name)
            if effect is not None and case.profile.environment.owner(name) is None:
                culprits.add(name)
                yield finding(
                    ENV007,
                    f"{name} ({effect}) ends as {after!r} where it was set outside, and as {before!r} where it was not",
                    **case.at_site(base, event.site),
                    lane=base.lane.value,
                    evidence={"variable": name, "own": before, "outside": after},
                )


def _place(case: Case, name: str, *receipts: Receipt) -> dict[str, object]:
    """The line that reads a variable: as a run told it, else as the review sees it, else one that reads all."""
    told: dict[str, int | None] = {}
    for receipt in receipts:
        told = {**variables.read_in(receipt), **told}
    line = told.get(name) or variables.read_lines(case.artifact).get(name) or told.get("*")
    return case.at(line)


def _conclude(bench: _Bench, findings: Sequence[Finding], passed: str) -> Trial:
    facts = {
        "runs": str(len(bench.rows)),
        "window": f"{bench.profile.lockstep.window_updates} updates hashed, then the clock jumps past the budget",
    }
    plan = bench.spec.plan
    return conclude(
        bench.artifact, plan.text, bench.profile, findings, passed,
        trial="environment", facts=facts, columns=COLUMNS, rows=bench.rows,
    )  # fmt: skip
