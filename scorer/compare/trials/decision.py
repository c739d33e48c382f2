"""What is made of a change's differences, by the contest profile's rules (`trial`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from scorer.compare.trials.interval import interval
from scorer.compare.trials.result import Part
from scorer.contest import TrialRules

Decision = Literal["adopt", "reject", "confounded", "hold for audit", "undecided"]


class Spread(Part):
    """A mean over pairs, and the interval that it lies in: Student's t. One pair has none."""

    mean: float
    low: float | None
    high: float | None
    pairs: int
    confidence: float


@dataclass(frozen=True)
class Measured:
    """What the pairs showed. Differences are new minus old, in bits per byte: below zero the new program is better."""

    differences: Sequence[float]
    step_ratios: Sequence[float]
    control_drift: float | None  # the old program's second run minus its first


def spread(values: Sequence[float], confidence: float) -> Spread | None:
    """The mean of a number for each pair with its interval; None without any."""
    if not values:
        return None
    if len(values) == 1:
        return Spread(mean=values[0], low=None, high=None, pairs=1, confidence=confidence)
    found = interval(values, confidence, 1)
    return Spread(mean=found.middle, low=found.low, high=found.high, pairs=found.rounds, confidence=confidence)


def decide(measured: Measured, rules: TrialRules) -> tuple[Decision, str]:
    """The decision and its reason.

    First what makes the numbers worth nothing (another number of steps, a control that drifts), then what is too good,
    then the mean: pairs that lie close together, or an interval that excludes the opposite, decide.
    """
    differences = measured.differences
    found = spread(differences, rules.confidence)
    if found is None:
        return "undecided", f"No pair was run to its end; what would decide: {rules.pairs} pairs."
    low, high = rules.step_ratio
    outside = [ratio for ratio in measured.step_ratios if not low <= ratio <= high]
    if outside:
        return "confounded", (
            f"In equal time the new program makes {outside[0]:.3f} times the old one's steps, outside {low:g} to "
            f"{high:g}: what is learned per step and what the step time does cannot be told apart."
        )
    drift = measured.control_drift
    if drift is not None and abs(drift) > rules.control_drift_bpb:
        return "confounded", (
            f"The old program, run again, is {drift:+.5f} bpb from its own first run, more than "
            f"{rules.control_drift_bpb:g}: the machine drifts."
        )
    told = f"{found.mean:+.5f} bpb at equal time, {_pairs(found.pairs)}"
    if found.low is not None and found.high is not None:
        told += f", {found.low:+.5f} to {found.high:+.5f} with {100 * rules.confidence:g} % confidence"
    if found.mean < -rules.hold_bpb:
        return "hold for audit", f"{told}: a gain over {rules.hold_bpb:g} is looked at before it is believed."
    if found.pairs < rules.pairs:
        return "undecided", f"{told}; what would decide: {_pairs(rules.pairs)}, so {rules.pairs - found.pairs} more."
    apart = max(differences) - min(differences)
    close = apart <= rules.disagree_bpb
    assert found.low is not None
    assert found.high is not None
    if found.mean <= rules.adopt_bpb and all(each < 0 for each in differences) and (close or found.high < 0):
        return "adopt", f"{told}: at most {rules.adopt_bpb:g}, and all pairs agree in sign."
    if found.mean > rules.adopt_bpb and (close or found.low > rules.adopt_bpb):
        return "reject", f"{told}: the gain of {-rules.adopt_bpb:g} that was asked for is not there."
    return "undecided", (
        f"{told}; the pairs are {apart:.5f} apart, more than {rules.disagree_bpb:g}, and the interval holds both "
        f"answers; what would decide: about {_pairs(_wanted(found, rules))}."
    )


def _wanted(found: Spread, rules: TrialRules) -> int:
    """Pairs whose interval would end at the threshold, if they spread as those so far."""
    assert found.high is not None
    half = found.high - found.mean
    distance = max(abs(found.mean - (0.0 if found.mean <= rules.adopt_bpb else rules.adopt_bpb)), 1e-12)
    return max(found.pairs + 1, min(1000, math.ceil(found.pairs * (half / distance) ** 2)))


def _pairs(count: int) -> str:
    return "one pair" if count == 1 else f"{count} pairs"
