"""What a comparison says."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from scorer.findings import Finding


@dataclass(frozen=True)
class Row:
    """One row of the three-column table; `agree` is None where the row is no comparison."""

    label: str
    local: str
    artifact: str
    trusted: str
    agree: bool | None


@dataclass(frozen=True)
class Offset:
    """One named part of the way from the recipe's own number to the official one, in bits per byte."""

    name: str
    from_bpb: float
    to_bpb: float
    part_bpb: float
    reaches: str  # what `to_bpb` is: the evaluation's name, or what is expected
    spread_bpb: float | None = None  # of a part that is expected and was not measured; None: it was measured

    @property
    def exact(self) -> Fraction:
        """The part without rounding; over all offsets these add up to the whole, exactly."""
        return Fraction(self.to_bpb) - Fraction(self.from_bpb)


@dataclass(frozen=True)
class Comparison:
    """The verdict, why, and everything that it was made from."""

    verdict: Literal["pass", "fail", "inconclusive"]
    reason: str
    findings: list[Finding]  # the most telling first
    rows: list[Row]
    offsets: list[Offset]
