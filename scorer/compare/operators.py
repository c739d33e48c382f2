"""Operators: what one update is made of, so that a flag that changes the program but not its numbers shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from scorer.compare.calls import parting
from scorer.compare.case import Case, paired
from scorer.findings import Finding, Place, Severity, define, finding
from scorer.room.receipts import OperatorCall, Rank, Receipt

OPS001 = define(
    "OPS001",
    title="One update is made of different operators",
    why="The programs differ even where their numbers agree: fused against unfused attention, an extra copy or cast; "
    "that costs time or memory.",
    remedy="Look at the line named, and at the flag or branch that decides there.",
)

OPS002 = define(
    "OPS002",
    title="One update calls the same operators in another order",
    why="The numbers agree and the programs differ all the same: what is in another order here may not commute with "
    "other values of the knobs.",
    remedy="Look at the line named: which statement comes first there in the recipe, and which in the artifact?",
    severity=Severity.ADVICE,
)

SHOWN = 8


@dataclass(frozen=True)
class Change:
    """One operator and signature whose count differs."""

    operator: str
    signature: str
    local: int
    artifact: int
    place: Place | None
    line: int | None  # of train.py
    first: int  # place in the order of first calls of the lane that has the operator

    def __str__(self) -> str:
        where = f" at {self.place}" if self.place else ""
        return f"{self.operator}({self.signature}) {self.local} times locally, {self.artifact} in the artifact{where}"


def compare(case: Case) -> list[Finding]:
    """At most one finding: the first rank whose census differs, with its differences; else the first other order."""
    local, artifact = case.local, case.artifact_lane
    if local is None or artifact is None:
        return []
    for here, there in paired(local, artifact):
        if here.census_update is None or here.census_update != there.census_update:
            continue
        changes = list(differences(case, local, artifact, here, there))
        if changes:
            # What the artifact newly does, at a line of its own, says most; then what it no longer does. What comes
            # first in the update comes before what follows from it.
            changes.sort(key=lambda c: (c.place is None, c.local > 0, c.first, c.operator, c.signature))
            told = _at_first(case, local, artifact, here.census_update, changes)
            more = f" (and {len(changes) - 1} other rows)" if len(changes) > 1 else ""
            return [
                finding(
                    OPS001,
                    f"update {here.census_update}: {told}{more}",
                    place=told.place,
                    artifact_line=told.line,
                    lane=artifact.lane.value,
                    rank=there.rank,
                    update=here.census_update,
                    evidence={"changes": [str(change) for change in changes[:SHOWN]]},
                )
            ]
    return [*_order(case, local, artifact)]


def _order(case: Case, local: Receipt, artifact: Receipt) -> Iterator[Finding]:
    updates = [rank.census_update for rank in artifact.ranks if rank.census_update is not None]
    parted = parting(case, local, artifact, max(updates, default=-1), values=False)
    if parted is not None:
        yield finding(
            OPS002,
            f"update {parted.update}: the first call in which they part: {parted}",
            place=parted.place,
            artifact_line=parted.line,
            lane=artifact.lane.value,
            rank=parted.rank,
            update=parted.update,
        )


def _at_first(case: Case, local: Receipt, artifact: Receipt, update: int, changes: list[Change]) -> Change:
    """The change that the first call tells in which the runs part, where they are followed; else the first of all."""
    parted = parting(case, local, artifact, update, values=False)
    if parted is not None and parted.place is not None:
        for change in changes:
            if (change.operator, change.signature) == (parted.operator, parted.signature):
                return replace(change, place=parted.place, line=parted.line)
    return changes[0]


def differences(case: Case, local: Receipt, artifact: Receipt, here: Rank, there: Rank) -> Iterator[Change]:
    """Rows of two censuses that differ, sorted by operator and signature."""
    left, right = _rows(here), _rows(there)
    for key in sorted(left.keys() | right.keys()):
        a, b = left.get(key), right.get(key)
        counts = (a.count if a else 0, b.count if b else 0)
        if counts[0] != counts[1]:
            place, line = _where(case, local, artifact, a, b)
            call = b or a
            yield Change(*key, *counts, place, line, call.first if call else 0)


def instead(case: Case, artifact: Receipt, here: Rank, there: Rank) -> list[str]:
    """Operators that the artifact's census has more of than the local one's, with the recipe's lines, most first."""
    if here.census_update is None or here.census_update != there.census_update:
        return []
    known = _rows(here)
    more = []
    for key, call in _rows(there).items():
        count = call.count - (known[key].count if key in known else 0)
        if count > 0:
            place = case.place(artifact, call.site)
            where = f"at {place}" if place else "in backward"
            more.append((-count, f"{call.operator}({call.signature}) {count} times more {where}"))
    return [text for _, text in sorted(more)][:SHOWN]


def _rows(rank: Rank) -> dict[tuple[str, str], OperatorCall]:
    return {(call.operator, call.signature): call for call in rank.census}


def _where(
    case: Case, local: Receipt, artifact: Receipt, a: OperatorCall | None, b: OperatorCall | None
) -> tuple[Place | None, int | None]:
    """The artifact's line where it has one that maps, else the recipe's own."""
    if b is not None and (place := case.place(artifact, b.site)) is not None:
        return place, case.line(artifact, b.site)
    return (case.place(local, a.site) if a is not None else None), None
