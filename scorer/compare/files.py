"""What the two programs do with files: each opens, writes and saves the same ones, under the same names."""

from __future__ import annotations

from collections.abc import Iterator

from scorer.compare.case import Case, paired
from scorer.findings import Finding, Severity, define, finding
from scorer.room.receipts import Event, Rank

LCK011 = define(
    "LCK011",
    title="The programs use different files",
    why="One opens a file that the other leaves alone: its result may come from there, or what it leaves behind is not "
    "what the recipe leaves, such as a checkpoint that is whole only when the write was not interrupted.",
    remedy="Open the same files in both; give the names as constants, not by what differs between the two programs.",
    severity=Severity.ADVICE,
)

WORDS = {"read": "reads", "write": "writes", "save": "saves"}


def compare(case: Case) -> list[Finding]:
    """At most one finding: the first file below the working directory that only one of the two programs uses."""
    local, artifact = case.local, case.artifact_lane
    if local is None or artifact is None or not case.complete(local, artifact):
        return []
    for here, there in paired(local, artifact):
        sides = (
            (artifact, "the artifact's run", there, here, "the local run"),
            (local, "the local run", here, there, "the artifact's run"),
        )
        for receipt, who, mine, other, whom in sides:
            for event in _alone(mine, other):
                message = f"{who} {WORDS[event.kind]} {event.detail}, {whom} does not"
                evidence = {"file": event.detail, "lane": receipt.lane.value}
                at = case.at_site(receipt, event.site)
                return [finding(LCK011, message, lane=artifact.lane.value, rank=there.rank, evidence=evidence, **at)]
    return []


def _alone(mine: Rank, other: Rank) -> Iterator[Event]:
    """Uses of a file that the other program does not make; a file elsewhere may have a name of its own in each run."""
    known = {(event.kind, event.detail) for event in other.events}
    for event in mine.events:
        if event.kind in WORDS and not event.detail.startswith("/") and (event.kind, event.detail) not in known:
            yield event
