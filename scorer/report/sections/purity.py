"""The purity tests of a receipt, by kind: how many trials, how far the logits moved, what was not run and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scorer.room.receipts import PurityTest, Receipt

ORDER = ("failed", "void", "not run", "passed")
"""Outcomes, the most telling first."""


@dataclass(frozen=True)
class TrialView:
    """One trial."""

    trial: str
    outcome: str
    reason: str
    largest: str
    allowed: str
    dtypes: str


@dataclass(frozen=True)
class PurityView:
    """All trials of one kind of test."""

    test: str
    code: str
    outcome: str  # passed where at least one trial did and none failed or was void
    counts: str  # "3 passed, 1 not run"
    largest: str  # change seen in any trial
    allowed: str  # in that trial
    dtypes: str
    trials: tuple[TrialView, ...]

    @property
    def open_trials(self) -> tuple[TrialView, ...]:
        """Those that did not pass."""
        return tuple(trial for trial in self.trials if trial.outcome != "passed")


def purity(receipt: Receipt | None) -> tuple[PurityView, ...]:
    """The tests of the trusted lane, in the order in which they ran."""
    by_test: dict[str, list[PurityTest]] = {}
    for trial in receipt.purity if receipt else ():
        by_test.setdefault(trial.test, []).append(trial)
    return tuple(_view(test, trials) for test, trials in by_test.items())


def _view(test: str, trials: list[PurityTest]) -> PurityView:
    outcomes = [trial.outcome for trial in trials]
    passed_some = "passed" in outcomes and not {"failed", "void"} & set(outcomes)
    worst = max(
        (trial for trial in trials if trial.largest is not None),
        key=lambda trial: (trial.outcome == "failed", abs(trial.largest or 0.0), trial.allowed or 0.0),
        default=None,
    )
    return PurityView(
        test=test,
        code=trials[0].code,
        outcome="passed" if passed_some else min(outcomes, key=ORDER.index),
        counts=", ".join(f"{outcomes.count(one)} {one}" for one in ORDER if one in outcomes),
        largest=quantity(worst.largest, worst.unit) if worst else "",
        allowed=quantity(worst.allowed, worst.unit) if worst else "",
        dtypes=_joined(name for trial in trials for name in trial.dtypes),
        trials=tuple(
            TrialView(
                trial=trial.trial,
                outcome=trial.outcome,
                reason=trial.reason or "",
                largest=quantity(trial.largest, trial.unit),
                allowed=quantity(trial.allowed, trial.unit),
                dtypes=_joined(trial.dtypes),
            )
            for trial in trials
        ),
    )


def quantity(value: float | None, unit: str) -> str:
    """A number in its unit; nothing where nothing was measured."""
    if value is None:
        return ""
    if unit == "bytes":
        return f"{value / 2**20:.1f} MiB"
    return f"{value:.3g}" if unit == "logit" else f"{value:.3g} {unit}"


def _joined(names: Iterable[str]) -> str:
    return ", ".join(sorted(set(names)))
