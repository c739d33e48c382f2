"""Operators of one update whose counts differ between the lanes."""

from __future__ import annotations

from scorer.compare.case import Case, paired
from scorer.compare.operators import Change, differences


def operators(case: Case) -> tuple[tuple[Change, ...], int]:
    """Rank 0's changes, the largest first, and how many kinds of call were compared."""
    local, artifact = case.local, case.artifact_lane
    if local is None or artifact is None:
        return (), 0
    for here, there in paired(local, artifact):
        changes = sorted(
            differences(case, local, artifact, here, there),
            key=lambda change: (-abs(change.artifact - change.local), change.operator, change.signature),
        )
        return tuple(changes), len({(call.operator, call.signature) for call in (*here.census, *there.census)})
    return (), 0
