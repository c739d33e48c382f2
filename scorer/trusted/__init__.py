"""Trusted scoring: the submission's model in a process of its own, targets and sums on the judge's side."""

from scorer.trusted.judge import score

__all__ = ["score"]
