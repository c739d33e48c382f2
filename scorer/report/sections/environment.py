"""Variables that differ between the lanes, and those that matter."""

from __future__ import annotations

from dataclasses import dataclass

from scorer.compare.case import Case
from scorer.report.words import plain
from scorer.room.receipts import Receipt


@dataclass(frozen=True)
class EnvironmentView:
    """One environment variable as rank 0 of each lane saw it at start."""

    name: str
    local: str
    artifact: str
    agree: bool
    matters: str  # what the profile says that it changes, or ""


def environment(case: Case) -> tuple[EnvironmentView, ...]:
    """Variables that differ between the lanes, and those that the profile says matter; launcher-owned ones left out."""
    left, right = _variables(case.local), _variables(case.artifact_lane)
    if not left or not right:
        return ()
    rows, rules = [], case.profile.environment
    for name in sorted(left.keys() | right.keys()):
        owner, matters = rules.owner(name), rules.effect(name) or ""
        here, there = (plain(side[name]) if name in side else "unset" for side in (left, right))
        if owner != "launcher" and (here != there or (matters and owner is None)):
            rows.append(EnvironmentView(name, here, there, here == there, matters))
    return tuple(sorted(rows, key=lambda row: (row.agree, not row.matters, row.name)))


def _variables(receipt: Receipt | None) -> dict[str, str]:
    return receipt.ranks[0].environment_start if receipt and receipt.ranks else {}
