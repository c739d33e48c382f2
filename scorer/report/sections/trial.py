"""A trial's picture: bars on one axis, beside the limits."""

from __future__ import annotations

from dataclasses import dataclass

from scorer.compare.trials.result import Picture

MARGIN = 0.04  # of the axis, left and right of what is shown


@dataclass(frozen=True)
class Bar:
    """One bar, from zero to its value; places in per cent of the width."""

    label: str
    told: str
    left: float
    width: float
    is_over: bool  # beyond the last limit
    reach: tuple[float, float] | None  # left and width of the interval around the value
    limits: tuple[float, ...]


def bars(picture: Picture) -> tuple[Bar, ...]:
    """The bars over an axis that holds zero, every value with its interval, and every limit."""
    ends = [value for bar in picture.bars for value in (bar.value, bar.low, bar.high) if value is not None]
    limits = [limit.value for limit in picture.limits]
    low, high = min(0.0, *ends, *limits), max(0.0, *ends, *limits)
    span = (high - low) or 1.0
    low, span = low - (MARGIN * span if low < 0 else 0.0), span * (1 + MARGIN * (1 + (low < 0)))

    def at(value: float) -> float:
        return 100 * (value - low) / span

    def reach(from_: float | None, to: float | None) -> tuple[float, float] | None:
        return None if from_ is None or to is None else (at(from_), at(to) - at(from_))

    return tuple(
        Bar(
            label=bar.label,
            told=f"{bar.value:{picture.form}} {picture.unit}",
            left=at(min(0.0, bar.value)),
            width=at(max(0.0, bar.value)) - at(min(0.0, bar.value)),
            is_over=bool(limits) and bar.value > max(limits),
            reach=reach(bar.low, bar.high),
            limits=tuple(map(at, limits)),
        )
        for bar in picture.bars
    )
