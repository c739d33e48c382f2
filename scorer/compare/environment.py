"""Environment: what each rank had that can change numbers, speed or what runs."""

from __future__ import annotations

import math
from collections.abc import Iterator

from scorer.compare.case import Case, paired
from scorer.contest import Profile
from scorer.findings import Finding, Place, Severity, define, finding
from scorer.room.receipts import Rank, Receipt, Site

_WIDTHS = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}  # bytes; at least one for any other dtype

ENV001 = define(
    "ENV001",
    title="A variable that matters differs between the local run and the artifact's",
    why="Flags change numbers and speed; the scoring machine has only those that the program sets itself.",
    remedy="Set the variable in the program, unconditionally and before its first use; export nothing outside.",
)
ENV002 = define(
    "ENV002",
    title="The program reads a variable that differs between the lanes",
    why="What the program does then depends on the machine that it runs on.",
    remedy="Make the value a knob of the configuration, and drop the read.",
)
ENV003 = define(
    "ENV003",
    title="The lanes ran on different software or devices",
    why="Their numbers may differ for that reason alone.",
    remedy="Run both lanes with the same interpreter, packages, device and Neuron SDK.",
)
ENV004 = define(
    "ENV004",
    title="This machine has other versions than the scoring machine",
    why="Another compiler or framework makes other numbers and other speed than the ones that will be scored.",
    remedy="Repeat the last rehearsal before an upload on a machine with the contest's versions.",
    severity=Severity.ADVICE,
)
ENV005 = define(
    "ENV005",
    title="The model does not fit into the scoring machine's memory",
    why="Its parameters alone, once on each rank, need more than the device has.",
    remedy="Make the model smaller, or its parameters of a smaller dtype.",
)


def compare(case: Case) -> list[Finding]:
    """Findings about variables and software of the local and the artifact lane."""
    local, artifact = case.local, case.artifact_lane
    if artifact is None:
        return []
    findings = [*_versions(case, artifact), *_memory(case, artifact)]
    if local is None:
        return findings
    told: set[str] = set()
    for here, there in paired(local, artifact):
        for name in sorted(_names(here) | _names(there)):
            if name in told:
                continue
            found = _variable(case, local, artifact, here, there, name)
            if found is not None:
                told.add(name)
                findings.append(found)
    if case.complete(local, artifact):  # a rank that failed early had not imported everything
        findings += _software(local, artifact)
    return findings


def matters(profile: Profile, name: str) -> str | None:
    """What a variable changes: "numerics", "speed" or "execution"; None for one that changes nothing."""
    return None if profile.environment.owner(name) is not None else profile.environment.effect(name)


def _names(rank: Rank) -> set[str]:
    return rank.environment_start.keys() | rank.environment_end.keys()


def _variable(case: Case, local: Receipt, artifact: Receipt, here: Rank, there: Rank, name: str) -> Finding | None:
    at_end = here.environment_end.get(name), there.environment_end.get(name)
    at_start = here.environment_start.get(name), there.environment_start.get(name)
    if at_end[0] == at_end[1] and at_start[0] == at_start[1]:
        return None
    place, line, read = _site(case, local, artifact, here, there, name)
    what = matters(case.profile, name)
    owned = case.profile.environment.owner(name) == "launcher"
    if what is None and (owned or not read):
        return None
    when, (mine, theirs) = ("at the end", at_end) if at_end[0] != at_end[1] else ("at the start", at_start)
    effect = f" ({what})" if what else ""
    return finding(
        ENV001 if what else ENV002,
        f"{name}{effect} {_shown(mine)} in the local run {when} and {_shown(theirs)} in the artifact's",
        place=place,
        artifact_line=line,
        rank=there.rank,
        evidence={"variable": name, "local": mine, "artifact": theirs, "when": when},
    )


def _site(
    case: Case, local: Receipt, artifact: Receipt, here: Rank, there: Rank, name: str
) -> tuple[Place | None, int | None, bool]:
    """(place, artifact line, whether it was read): who set the variable, else who read it, artifact before recipe."""
    read = False
    found: list[tuple[int, Receipt, Site]] = []
    for receipt, rank in ((artifact, there), (local, here)):
        for event in rank.events:
            if event.detail == name and event.kind in ("set-environment", "read-environment"):
                read = read or event.kind == "read-environment"
                if event.site is not None:
                    found.append((0 if event.kind == "set-environment" else 1, receipt, event.site))
    if not found:
        return None, None, read
    _, receipt, site = min(found, key=lambda entry: entry[0])
    return case.place(receipt, site), case.line(receipt, site), read


def _versions(case: Case, artifact: Receipt) -> Iterator[Finding]:
    """What the artifact's run had of the packages whose version on the scoring machine is known."""
    known = case.profile.machine.versions
    for rank in artifact.ranks[:1]:
        had = {module: rank.packages[module].partition("+")[0] for module in known if module in rank.packages}
        other = {module: version for module, version in had.items() if version != known[module]}
        if other:
            told = ", ".join(f"{module} {version} instead of {known[module]}" for module, version in other.items())
            yield finding(ENV004, f"not the scoring machine's versions: {told}", rank=rank.rank, evidence=other)


def _memory(case: Case, artifact: Receipt) -> Iterator[Finding]:
    """What the ranks' parameters need together, where the machine's memory is known."""
    known = case.profile.machine.memory_bytes
    needed = sum(
        math.prod(parameter.shape) * _WIDTHS.get(parameter.dtype, 1)
        for rank in artifact.ranks
        for parameter in rank.parameters
    )
    if known is not None and needed > known:
        message = f"the parameters of {len(artifact.ranks)} ranks need {needed:,} bytes, the machine has {known:,}"
        yield finding(ENV005, message, evidence={"needed": needed})


def _software(local: Receipt, artifact: Receipt) -> list[Finding]:
    for here, there in paired(local, artifact):
        facts = {
            "Python": (here.python, there.python),
            "Neuron SDK": (here.neuron, there.neuron),
            "devices": (", ".join(here.devices), ", ".join(there.devices)),
            **{
                f"package {name}": (here.packages[name], there.packages[name])
                for name in sorted(here.packages.keys() & there.packages.keys())
            },
        }
        for what, (mine, theirs) in facts.items():
            if mine != theirs:
                message = f"{what}: {mine or 'none'} in the local run, {theirs or 'none'} in the artifact's"
                return [finding(ENV003, message, rank=there.rank, evidence={"what": what})]
    return []


def _shown(value: str | None) -> str:
    return "is not set" if value is None else f"is {value!r}"
