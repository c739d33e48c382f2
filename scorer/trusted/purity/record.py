"""The record of the purity tests: what was tried, how it came out, and the findings of what failed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from scorer.findings import Finding, define
from scorer.room.receipts import PurityTest
from scorer.trusted.sources import Source
from scorer.trusted.tolerance import Difference

PUR019 = define(
    "PUR019",
    title="A purity check is void",
    why="Its control, a change that must show, did not show: the check could not have failed.",
    remedy="Find out why the logits do not react; a constant or saturated model cannot be judged.",
)


Outcome = Literal["passed", "failed", "void", "not run"]


@dataclass(frozen=True)
class Test:
    """A kind of test: its name, and the code of what fails it."""

    name: str
    code: str


@dataclass
class Record:
    """Trials in the order in which they ran."""

    source: Source
    line: int | None  # where a finding has no better place
    tests: list[PurityTest] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def passed(
        self, test: Test, trial: str, difference: Difference | None = None, dtypes: set[str] | None = None
    ) -> None:
        """A trial that could have failed and did not."""
        self._enter(test, trial, "passed", None, difference, dtypes)

    def failed(
        self,
        test: Test,
        trial: str,
        message: str,
        line: int | None = None,
        difference: Difference | None = None,
        dtypes: set[str] | None = None,
        **evidence: Any,
    ) -> None:
        """A trial that found something."""
        if difference is not None:
            message = f"{message} ({difference})"
            evidence |= {"largest_change": difference.largest, "allowed": difference.allowed}
        if dtypes is not None:
            evidence["computed_in"] = sorted(dtypes)
        self._enter(test, trial, "failed", message, difference, dtypes)
        evidence = {"test": test.name, "trial": trial, **evidence}
        self.findings.append(self.source.raise_at(test.code, message, line or self.line, evidence=evidence))

    def void(self, test: Test, trial: str, why: str) -> None:
        """A trial whose control did not show."""
        self._enter(test, trial, "void", why, None, None)
        message = f"the check of {test.name} is void ({trial}): {why}"
        self.findings.append(self.source.raise_at(PUR019, message, self.line, evidence={"trial": trial}))

    def not_run(self, test: Test, trial: str, why: str) -> None:
        """A trial that could not be made, or that an earlier failure makes pointless."""
        self._enter(test, trial, "not run", why, None, None)

    def tell(self, found: Finding) -> None:
        """A finding that stands beside the tests."""
        self.findings.append(found)

    def has_failed(self, *tests: Test) -> bool:
        """Whether any of these tests has failed."""
        names = {test.name for test in tests}
        return any(trial.outcome == "failed" and trial.test in names for trial in self.tests)

    def _enter(
        self,
        test: Test,
        trial: str,
        outcome: Outcome,
        reason: str | None,
        difference: Difference | None,
        dtypes: set[str] | None,
    ) -> None:
        self.tests.append(
            PurityTest(
                test=test.name,
                trial=trial,
                outcome=outcome,
                reason=reason,
                largest=None if difference is None else difference.largest,
                allowed=None if difference is None else difference.allowed,
                unit="logit" if difference is None else difference.unit,
                dtypes=sorted(dtypes or ()),
                code=test.code,
            )
        )
