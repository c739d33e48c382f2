"""The offset as a waterfall."""

from __future__ import annotations

from dataclasses import dataclass

from scorer.compare import Comparison, Offset
from scorer.compare.offsets import SAVED
from scorer.trusted.settings import IN_MEMORY, PUBLIC_SETTINGS


@dataclass(frozen=True)
class Bar:
    """One part of the offset, and where its bar lies, in per cent of the waterfall's width."""

    offset: Offset
    left: float
    width: float


@dataclass(frozen=True)
class Waterfall:
    """The parts as bars over an axis in bits per byte that spans just the values that occur, with a margin."""

    start: str  # the measurement that the first part starts from
    end: str  # what the last part reaches
    bars: tuple[Bar, ...]
    low: float
    high: float

    def at(self, bpb: float) -> float:
        """Where a value lies, in per cent of the width."""
        return 100 * (bpb - self.low) / (self.high - self.low)


def waterfall(comparison: Comparison) -> Waterfall | None:
    """The way from the first measurement to the official one; None where a measurement is missing."""
    parts = comparison.offsets
    if not parts:
        return None
    values = [value for part in parts for value in (part.from_bpb, part.to_bpb)]
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    low, span = low - 0.06 * span, 1.12 * span
    bars = tuple(
        Bar(
            offset=part,
            left=100 * (min(part.from_bpb, part.to_bpb) - low) / span,
            width=100 * abs(part.to_bpb - part.from_bpb) / span,
        )
        for part in parts
    )
    start = IN_MEMORY if parts[0].name == SAVED else PUBLIC_SETTINGS
    return Waterfall(start, parts[-1].reaches, bars, low, low + span)


def told(part: Offset) -> str:
    """A part as text: `+0.006700`, with its spread where it was not measured, `0` where it is nothing."""
    value = f"{part.part_bpb:+.6f}" if part.part_bpb else "0"
    return value if part.spread_bpb is None else f"{value} ± {part.spread_bpb:.4f}"
