"""The first call in which two runs part: another operator or kernel instruction, or another value of the same one.

Known for the first updates, where every call is followed. It says where a difference comes from, never whether there is
one: what an operator leaves in memory that nobody reads may differ between equal runs.
"""

from __future__ import annotations

from dataclasses import dataclass

from scorer.compare.case import Case, paired
from scorer.findings import Place
from scorer.room.receipts import CallKind, Calls, Rank, Receipt


@dataclass(frozen=True)
class Parting:
    """Where two runs part."""

    update: int
    rank: int
    operator: str
    signature: str
    same_call: bool  # whether both made the call, with another result
    place: Place | None
    line: int | None  # of train.py

    def __str__(self) -> str:
        where = f" at {self.place}" if self.place else ""
        what = "gives another value" if self.same_call else "is not what both call here"
        return f"{self.operator}({self.signature}){where} {what}"


@dataclass(frozen=True)
class _Call:
    """One call; calls are compared by operator, signature and value."""

    kind: CallKind
    value: str

    @property
    def name(self) -> tuple[str, str]:
        return self.kind.operator, self.kind.signature

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Call) and (self.name, self.value) == (other.name, other.value)

    def __hash__(self) -> int:
        return hash((self.name, self.value))


def parting(case: Case, local: Receipt, artifact: Receipt, last: int, *, values: bool) -> Parting | None:
    """The first call in which any rank of the two runs parts, up to update `last`.

    `values`: another result of the same call counts; else another call alone does.
    """
    for update in range(last + 1):
        for here, there in paired(local, artifact):
            mine, theirs = _calls(here, update, values), _calls(there, update, values)
            if mine and theirs and (found := _first(case, local, artifact, update, there.rank, mine, theirs)):
                return found
    return None


def _first(
    case: Case, local: Receipt, artifact: Receipt, update: int, rank: int, mine: list[_Call], theirs: list[_Call]
) -> Parting | None:
    pairs = enumerate(zip(mine, theirs, strict=False))
    index = next((index for index, (a, b) in pairs if a != b), min(len(mine), len(theirs)))
    a = mine[index] if index < len(mine) else None
    b = theirs[index] if index < len(theirs) else None
    if a is None and b is None:
        return None
    if a is not None and b is not None and a.name == b.name:
        return _parting(case, artifact, b.kind, update, rank, same_call=True, other=(local, a.kind))
    # One that is in the local run only: what the artifact calls here comes later there.
    if a is not None and (b is None or (b in mine[index:] and a not in theirs[index:])):
        return _parting(case, local, a.kind, update, rank)
    assert b is not None
    return _parting(case, artifact, b.kind, update, rank, other=None if a is None else (local, a.kind))


def _parting(
    case: Case,
    receipt: Receipt,
    kind: CallKind,
    update: int,
    rank: int,
    *,
    same_call: bool = False,
    other: tuple[Receipt, CallKind] | None = None,
) -> Parting:
    """In the artifact's words, where it has a line that maps; else in those of the other run."""
    place, line = case.place(receipt, kind.site), case.line(receipt, kind.site)
    if place is None and other is not None:
        place, line = case.place(other[0], other[1].site), None
    return Parting(update, rank, kind.operator, kind.signature, same_call, place, line)


def _calls(rank: Rank, update: int, values: bool) -> list[_Call]:
    found: Calls | None = next((one for one in rank.calls if one.update == update), None)
    if found is None:
        return []
    words = (text.partition(" ") for text in found.calls)
    return [_Call(found.kinds[int(number)], value if values else "") for number, _, value in words]
