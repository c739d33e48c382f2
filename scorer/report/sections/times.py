"""Where the time of each lane went."""

from __future__ import annotations

from dataclasses import dataclass

from scorer.compare.case import Case
from scorer.report.sections import LANES
from scorer.room import timing


@dataclass(frozen=True)
class TimeView:
    """Seconds of one lane by phase; `width` is the lane's total in per cent of the longest lane's."""

    lane: str
    parts: tuple[tuple[str, float, float], ...]  # (phase, seconds, per cent of this lane's total)
    total: float
    width: float
    updates: int
    median: float | None  # seconds per update after the excluded ones


@dataclass(frozen=True)
class PhaseRow:
    """Seconds of one phase in each lane that has phases, in the order of `phased`; None where a lane has it not."""

    phase: str
    seconds: tuple[float | None, ...]


def phased(views: tuple[TimeView, ...]) -> tuple[TimeView, ...]:
    """The lanes that trained: scoring has measurements instead of phases."""
    return tuple(view for view in views if view.updates)


def phases(views: tuple[TimeView, ...]) -> tuple[PhaseRow, ...]:
    """The same seconds as a table, a row for each phase that any lane spent time in."""
    split = [{name: seconds for name, seconds, _ in view.parts} for view in phased(views)]
    names = dict.fromkeys(name for parts in split for name, seconds in parts.items() if seconds)
    return tuple(PhaseRow(name, tuple(parts.get(name) for parts in split)) for name in names)


def times(case: Case) -> tuple[TimeView, ...]:
    """The split of every lane that has one; scoring is split by measurement."""
    bars = []
    for lane in LANES:
        receipt = case.receipts.get(lane)
        if receipt is None:
            continue
        if receipt.time is not None:
            split = receipt.time
            coarse = {"start-up": split.start_up, "train": split.train, "tail": split.tail}
            fine = {name: split.parts[name] for name in timing.PARTS if name in split.parts}
            parts = [*(fine or coarse).items()]
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
                parts=tuple((name, seconds, 100 * seconds / (total or 1.0)) for name, seconds in parts if seconds),
                total=total,
                width=100 * total / longest,
                updates=len(updates),
                median=steady[len(steady) // 2] if steady else None,
            )
        )
    return tuple(views)
