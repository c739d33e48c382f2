"""What the tests of purity work on."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from scorer.contest import Purity
from scorer.trusted.model import Model
from scorer.trusted.purity.record import Record, Test
from scorer.trusted.tolerance import Change, Difference, compare, unit


@dataclass(frozen=True)
class Bench:
    """Two different batches of real rows [B, T] and the logits of the first; findings go into the record."""

    model: Model
    record: Record
    settings: Purity
    first: torch.Tensor
    second: torch.Tensor
    logits: torch.Tensor

    @property
    def rounding(self) -> float:
        """The unit of the tolerance, of the coarsest dtype that the model computes in."""
        return unit(self.model.dtypes)

    def compare(self, expected: torch.Tensor, found: torch.Tensor, change: Change) -> Difference:
        """Compare logits that should be equal."""
        return compare(expected, found, change, self.rounding)

    def passed(self, test: Test, trial: str, difference: Difference | None = None) -> None:
        """Note a trial that could have failed and did not."""
        self.record.passed(test, trial, difference, self.model.dtypes)

    def failed(
        self, test: Test, trial: str, message: str, line: int | None, difference: Difference | None, **evidence: object
    ) -> None:
        """Note a trial that found something."""
        line = line or self.model.forward_line
        self.record.failed(test, trial, message, line, difference, self.model.dtypes, **evidence)


def other_tokens(here: torch.Tensor, there: torch.Tensor) -> torch.Tensor:
    """Tokens `there` in the place of those `here`, with the first one surely different."""
    other = there.clone()
    if bool(other[0] == here[0]):
        other[0] = other[0] + 1 if int(other[0]) == 0 else other[0] - 1
    return other
