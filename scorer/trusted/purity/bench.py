"""What the tests of purity work on."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from scorer.contest import Purity
from scorer.trusted.model import Model
from scorer.trusted.purity.record import Record, Test
from scorer.trusted.tolerance import LARGEST_FACTOR, Change, Difference, compare, unit


@dataclass(frozen=True)
class Bench:
    """Two different batches of real rows [B, T] and the logits of the first; findings go into the record."""

    model: Model
    record: Record
    settings: Purity
    first: torch.Tensor
    second: torch.Tensor
    logits: torch.Tensor

    def dtypes(self, change: Change) -> set[str]:
        """What the tolerance follows from: activations are rounded alike where the same instructions run."""
        reordered = change in (Change.SHAPE, Change.GRADIENTS)
        return self.model.dtypes | self.model.activations if reordered else self.model.dtypes

    def relative(self, change: Change) -> float:
        """How far apart values may be within the model, relative to the largest."""
        factors = {Change.NOTHING: 0.0, Change.CONTENT: 1.0}
        return factors.get(change, LARGEST_FACTOR) * unit(self.dtypes(change))

    def compare(self, expected: torch.Tensor, found: torch.Tensor, change: Change) -> Difference:
        """Compare logits that should be equal."""
        return compare(expected, found, change, self.dtypes(change))

    def passed(self, test: Test, trial: str, difference: Difference | None = None) -> None:
        """Note a trial that could have failed and did not."""
        self.record.passed(test, trial, difference, self._computed_in(difference))

    def failed(
        self, test: Test, trial: str, message: str, line: int | None, difference: Difference | None, **evidence: object
    ) -> None:
        """Note a trial that found something."""
        line = line or self.model.forward_line
        self.record.failed(test, trial, message, line, difference, self._computed_in(difference), **evidence)

    def _computed_in(self, difference: Difference | None) -> set[str]:
        return self.model.dtypes if difference is None else set(difference.dtypes)


def other_tokens(here: torch.Tensor, there: torch.Tensor) -> torch.Tensor:
    """Tokens `there` in the place of those `here`, with the first one surely different."""
    other = there.clone()
    if bool(other[0] == here[0]):
        other[0] = other[0] + 1 if int(other[0]) == 0 else other[0] - 1
    return other
