"""The comparison's own sensitivity, and whether there is enough evidence for any verdict."""

from __future__ import annotations

from collections.abc import Iterator

from scorer.compare.case import Case
from scorer.compare.lockstep import Difference, first_difference
from scorer.findings import Finding, define, finding
from scorer.room.receipts import Lane, Outcome, Receipt

CTL001 = define(
    "CTL001",
    title="The sensitivity control came out like the artifact",
    why="One parameter was changed on purpose and nothing showed it: equality then proves nothing.",
    remedy="Run again; if it stays, the observer does not see the model that is trained.",
)
CTL002 = define(
    "CTL002",
    title="A lane left no receipt",
    why="What did not run cannot be compared.",
    remedy="Run the lane; its log says why it left nothing.",
)
CTL003 = define(
    "CTL003",
    title="A lane did not run to its end",
    why="An unfinished run proves nothing about a finished one.",
    remedy="Mend what ended it (the receipt's `problem`), and run again.",
)
CTL004 = define(
    "CTL004",
    title="The lanes were measured under different conditions",
    why="Numbers from another kit, profile, clock or scorer are not comparable.",
    remedy="Run all lanes with the same kit, contest profile, clock and version of the scorer.",
)

UNDECIDED = {CTL001, CTL002, CTL003, CTL004, "LCK009", "PUR019", "SCR003", "SCR007", "SCR020", "SCR021"}
"""Codes that say that evidence is missing: with one of these the verdict is inconclusive, never pass."""


def required(case: Case) -> list[Lane]:
    """Lanes without which there is no verdict: a rehearsal's, those of two files, or all of a parity run's."""
    if Lane.REHEARSAL in case.receipts:
        return [Lane.REHEARSAL, Lane.TRUSTED]
    lanes = [Lane.LOCAL, Lane.ARTIFACT, Lane.CONTROL]
    if case.local is None or case.local.subject.kind == "recipe":
        lanes.append(Lane.TRUSTED)
    return lanes


def compare(case: Case) -> list[Finding]:
    """Findings that make the verdict inconclusive."""
    return [*_missing(case), *_conditions(case), *_sensitivity(case)]


def difference(case: Case) -> Difference | None:
    """Where the control first differed from the artifact."""
    if case.control is None or case.artifact_lane is None:
        return None
    return first_difference(case.artifact_lane, case.control)


def _missing(case: Case) -> Iterator[Finding]:
    for lane in required(case):
        receipt = case.receipts.get(lane)
        if receipt is None:
            yield finding(CTL002, f"the {lane.value} lane left no receipt", lane=lane.value)
        elif receipt.outcome is not Outcome.COMPLETE:
            message = f"the {lane.value} lane {_ended(receipt)}"
            yield finding(CTL003, message, lane=lane.value, place=case.place(receipt, receipt.problem_site))


def _ended(receipt: Receipt) -> str:
    return f"{receipt.outcome.value}: {receipt.problem or 'no reason was recorded'}"


def _conditions(case: Case) -> Iterator[Finding]:
    lanes = [receipt for lane in Lane if (receipt := case.receipts.get(lane)) is not None]
    for other in lanes[1:]:
        for what, here, there in (
            ("contest profile", (lanes[0].profile, lanes[0].profile_version), (other.profile, other.profile_version)),
            ("kit", lanes[0].kit, other.kit),
            ("scorer version", lanes[0].scorer_version, other.scorer_version),
            ("clock", lanes[0].clock or other.clock, other.clock or lanes[0].clock),  # scoring needs none
        ):
            if here != there:
                message = f"the {lanes[0].lane.value} and the {other.lane.value} lane have another {what}"
                yield finding(CTL004, message, lane=other.lane.value, evidence={"what": what})


def _sensitivity(case: Case) -> Iterator[Finding]:
    if case.control is None or case.artifact_lane is None or not case.complete(case.control, case.artifact_lane):
        return
    if difference(case) is None:
        yield finding(CTL001, "the control lane is the same as the artifact lane, bit for bit", lane="control")
