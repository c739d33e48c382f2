"""Where the time of an update went in two programs, and where the second one's grew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from scorer.compare.case import Case
from scorer.findings import Place
from scorer.room.receipts import LineTime, Receipt

LEAST_SHARE = 0.1  # of all that grew: what is less is not told
SHOWN = 5

Key = tuple[Place | None, str, str]  # the recipe's line, the operator, "in" or "before"


@dataclass(frozen=True)
class Grown:
    """Time that grew: within an operator that a line calls, or of the program's own before it."""

    place: Place | None
    operator: str
    where: str
    local: float  # seconds of an update
    artifact: float

    @property
    def seconds(self) -> float:
        """By how much."""
        return self.artifact - self.local

    def __str__(self) -> str:
        what = self.operator or "the update's end"
        place = f" at {self.place}" if self.place else " in backward" if self.operator else ""
        own = "" if self.where == "in" else "the program's own time before "
        return f"{own}{what}{place}: {1000 * self.local:.2f} ms locally, {1000 * self.artifact:.2f} ms in the artifact"


def grown(cases: Sequence[Case]) -> list[Grown]:
    """What grew most, first, by the medians over the rounds. `cases` holds both receipts of each round.

    Lines are the recipe's. A file without a map has none: there only operators are told apart.
    """
    rounds = [(_times(case, case.local), _times(case, case.artifact_lane)) for case in cases]
    keys = {key for pair in rounds for times in pair for key in times}
    found = []
    for key in keys:
        local, artifact = ([times.get(key, 0.0) for times in side] for side in zip(*rounds, strict=True))
        growth = median(there - here for here, there in zip(local, artifact, strict=True))
        found.append(Grown(*key, median(local), median(local) + growth))
    found.sort(key=lambda one: (-one.seconds, str(one)))
    total = sum(one.seconds for one in found if one.seconds > 0)
    return [one for one in found if one.seconds > LEAST_SHARE * total][:SHOWN]


def _times(case: Case, receipt: Receipt | None) -> dict[Key, float]:
    """Seconds of an update, the mean of the ranks."""
    times: dict[Key, float] = {}
    ranks = receipt.ranks if receipt is not None else []
    for rank in ranks:
        for row in rank.times:
            place = _place(case, receipt, row)
            for where, seconds in (("in", row.seconds), ("before", row.before_seconds)):
                key = place, row.operator, where
                times[key] = times.get(key, 0.0) + seconds / len(ranks)
    return times


def _place(case: Case, receipt: Receipt | None, row: LineTime) -> Place | None:
    if case.artifact.places is None or receipt is None:
        return None
    return case.place(receipt, row.site)
