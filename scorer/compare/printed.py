"""What the two programs print of themselves: on one virtual clock, every number of it is the same."""

from __future__ import annotations

from collections.abc import Iterator

from scorer.compare.case import Case
from scorer.compare.lockstep import first_difference
from scorer.findings import Finding, Severity, define, finding
from scorer.room.receipts import Receipt

LCK010 = define(
    "LCK010",
    title="The programs print different things",
    why="The weights agree, yet a step line or the summary says something else: the program's own account of its time, "
    "its loss or its size is not the one that the recipe gives.",
    remedy="Compare how both compute what they print under the name that the message gives.",
    severity=Severity.ADVICE,
)


def compare(case: Case) -> list[Finding]:
    """At most one finding, where the runs agree in all else; what the recipe's own runner prints beside is its own."""
    local, artifact = case.local, case.artifact_lane
    if local is None or artifact is None or not case.complete(local, artifact):
        return []
    if not case.same_virtual_clock:
        return []
    if first_difference(local, artifact) is not None or len(local.log_steps) != len(artifact.log_steps):
        return []
    for where, key, here, there in _different(local, artifact):
        message = f"{where}: {key} is {_shown(here)} in the local run and {_shown(there)} in the artifact's"
        evidence = {"key": key, "local": here, "artifact": there}
        line = case.source.text(key)
        return [finding(LCK010, message, lane=artifact.lane.value, evidence=evidence, **case.at(line))]
    return []


def _different(local: Receipt, artifact: Receipt) -> Iterator[tuple[str, str, str | None, str | None]]:
    """(where, key, the local run's value, the artifact's), in the order in which they are printed."""
    for number, (here, there) in enumerate(zip(local.log_steps, artifact.log_steps, strict=True)):
        for key in [*there, *(other for other in here if other not in there)]:
            if here.get(key) != there.get(key):
                yield f"step line {number}", key, here.get(key), there.get(key)
    for key, value in artifact.summary.items():
        if local.summary.get(key) != value:
            yield "summary", key, local.summary.get(key), value


def _shown(value: str | None) -> str:
    return "absent" if value is None else repr(value)
