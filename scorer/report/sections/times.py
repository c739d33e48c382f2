"""Where the time of each lane went."""

from __future__ import annotations

from dataclasses import dataclass

from scorer.compare.case import Case
from scorer.report.sections import LANES


@dataclass(frozen=True)
class TimeView:
    """Seconds of one lane by phase; `width` is the lane's total in per cent of the longest lane's."""

    lane: str
    parts: tuple[tuple[str, float, float], ...]  # (phase, seconds, per cent of this lane's total)
    total: float
    width: float
    updates: int
    median: float | None  # seconds per update after the excluded ones


def times(case: Case) -> tuple[TimeView, ...]:
    """The split of every lane that has one; scoring is split by measurement."""
    bars = []
    for lane in LANES:
        receipt = case.receipts.get(lane)
        if receipt is None:
            continue
        if receipt.time is not None:
            split = receipt.time
            parts = [("start-up", split.start_up), ("train", split.train), ("tail", split.tail)]
        elif receipt.evaluations:
            parts = [(evaluation.name, evaluation.seconds) for evaluation in receipt.evaluations]
        else:
            continue
        updates = receipt.ranks[0].updates if receipt.ranks else []
        bars.append((lane, parts, updates))
    longest = max((sum(seconds for _, seconds in parts) for _, parts, _ in bars), default=0.0) or 1.0
    views = []
    for lane, parts, updates in bars:
        total = sum(seconds for _, seconds in parts)
        steady = sorted(update.seconds for update in updates[case.profile.budget.startup_updates_excluded :])
        views.append(
            TimeView(
                lane=lane.value,
                parts=tuple((name, seconds, 100 * seconds / (total or 1.0)) for name, seconds in parts),
                total=total,
                width=100 * total / longest,
                updates=len(updates),
                median=steady[len(steady) // 2] if steady else None,
            )
        )
    return tuple(views)
