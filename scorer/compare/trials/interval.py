"""How much slower, and how sure that is: a ratio from paired times, with an interval.

One round of a trial is one run of each program. Its ratio is the Hodges-Lehmann estimate over its pairs of updates (the
median of all means of two log ratios): a few updates that the machine disturbed do not move it. Two processes of one
program differ by chance in where their memory lies, for as long as they live, so the interval is made from rounds, not
from pairs: Student's t over the rounds' log ratios.

The rounds are looked at when there are `fewest` of them, and at every doubling. Who looks several times errs more,
so the allowed error is divided by the number of looks (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtrit

Decision = Literal["slower", "faster", "same", "undecided"]


@dataclass(frozen=True)
class Interval:
    """A ratio, and where it lies with the confidence asked for. All as logarithms."""

    middle: float
    half_width: float
    rounds: int

    @property
    def low(self) -> float:
        """The lower end."""
        return self.middle - self.half_width

    @property
    def high(self) -> float:
        """The upper end."""
        return self.middle + self.half_width

    def decide(self, limit: float) -> Decision:
        """What is shown of a `limit` (share: 0.03): the same, where a change of it is excluded; slower or faster, where
        a change by less than half of it is. An interval narrower than half the limit always decides.
        """
        edge = math.log1p(limit)
        if -edge < self.low and self.high < edge:
            return "same"
        return "slower" if self.low > edge / 2 else "faster" if self.high < -edge / 2 else "undecided"

    def rounds_to_decide(self, limit: float) -> int:
        """How many rounds make the interval narrow enough, if they spread as those so far."""
        distances = [abs(abs(self.middle) - share * math.log1p(limit)) for share in (0.5, 1.0)]
        wanted = max(*distances, math.log1p(limit) / 4)
        return max(self.rounds + 1, math.ceil(self.rounds * (self.half_width / wanted) ** 2))

    def __str__(self) -> str:
        return f"{math.exp(self.middle):.4f} times ({math.exp(self.low):.4f} to {math.exp(self.high):.4f})"


def log_ratio(first: Sequence[float], second: Sequence[float]) -> float:
    """The log of how many times as long the second takes, from pairs of times above zero."""
    logs = np.log(np.asarray(second)) - np.log(np.asarray(first))
    rows, columns = np.triu_indices(len(logs))
    return float(np.median((logs[rows] + logs[columns]) / 2))


def looks(fewest: int, most: int) -> list[int]:
    """Numbers of rounds at which the interval is looked at."""
    numbers = []
    while fewest < most:
        numbers.append(fewest)
        fewest *= 2
    return [*numbers, most]


def interval(logs: Sequence[float], confidence: float, looked: int) -> Interval:
    """The interval of two or more rounds, one of `looked` looks at them."""
    error = (1 - confidence) / looked
    spread = float(np.std(logs, ddof=1)) / math.sqrt(len(logs))
    student_t = float(stdtrit(len(logs) - 1, 1 - error / 2))
    return Interval(float(np.mean(logs)), student_t * spread, len(logs))
