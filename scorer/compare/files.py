"""What the two programs do with files: each opens, writes and saves the same ones, and saves when the other does."""

from __future__ import annotations

from collections.abc import Iterator

from scorer.compare.case import Case, paired
from scorer.findings import Finding, Severity, define, finding
from scorer.room.receipts import Event, Rank, Receipt

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
    """At most one finding: the first file below the working directory, or the first save, that only one has."""
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
    return _saves(case, local, artifact)


def _saves(case: Case, local: Receipt, artifact: Receipt) -> list[Finding]:
    """When each saves: on one virtual clock, before the same updates."""
    if not case.same_virtual_clock:
        return []
    for here, there in paired(local, artifact):
        mine, theirs = _saved_in(here), _saved_in(there)
        if len(here.updates) != len(there.updates) or mine == theirs:
            continue
        message = f"the local run saves {_when(mine)}, the artifact's {_when(theirs)}"
        receipt, rank = (local, here) if len(mine) > len(theirs) else (artifact, there)
        site = next((event.site for event in rank.events if event.kind == "save"), None)
        at = case.at_site(receipt, site)
        return [finding(LCK011, message, lane=artifact.lane.value, rank=there.rank, **at)]
    return []


def _saved_in(rank: Rank) -> list[int]:
    return [aside.update for aside in rank.asides if aside.what == "save"]


def _when(updates: list[int]) -> str:
    return f"before update {', '.join(map(str, updates))}" if updates else "never"


def _alone(mine: Rank, other: Rank) -> Iterator[Event]:
    """Uses of a file that the other program does not make; a file elsewhere may have a name of its own in each run."""
    known = {(event.kind, event.detail) for event in other.events}
    for event in mine.events:
        if event.kind in WORDS and not event.detail.startswith("/") and (event.kind, event.detail) not in known:
            yield event
