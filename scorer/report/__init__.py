"""Reports of a verdict, all printed from one view of it: the terminal, a page, a summary, JSON, JUnit and SARIF."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rich.console import Console

from scorer.artifact import Artifact
from scorer.compare import Comparison
from scorer.contest import Profile
from scorer.files import write_atomic
from scorer.ledger import Changes
from scorer.report.html import page
from scorer.report.json_report import verdict_json
from scorer.report.junit import junit_xml
from scorer.report.sarif_report import verdict_sarif
from scorer.report.summary import markdown
from scorer.report.terminal import print_view
from scorer.report.view import View, view
from scorer.room import receipts as receipt_files
from scorer.room.receipts import Lane, Receipt

__all__ = ["FILES", "Report"]

FILES = ("verdict.json", "verdict.sarif", "junit.xml", "report.html", "summary.md", "receipts")
"""What `Report.write` leaves in its directory."""


@dataclass(frozen=True)
class Report:
    """A comparison with everything that it was made from. The same of all these gives the same bytes."""

    comparison: Comparison
    receipts: Mapping[Lane, Receipt]
    artifact: Artifact
    profile: Profile
    since: Changes | None = None  # the last upload; None where no ledger knows of one
    recipe: Path | None = None  # the directory that it is imported from; None: its lines are not shown

    @cached_property
    def view(self) -> View:
        """What all the reports show."""
        return view(self.comparison, self.receipts, self.artifact, self.profile, self.since, self.recipe)

    def write(self, out: Path) -> None:
        """Write FILES into `out`, each atomically. Raises OSError when the directory cannot be written."""
        for lane in sorted(self.receipts):
            receipt_files.write(self.receipts[lane], out / "receipts" / f"{lane.value}.json")
        write_atomic(out / "report.html", page(self.view))
        write_atomic(out / "summary.md", self.summary())
        write_atomic(out / "junit.xml", junit_xml(self.view))
        write_atomic(out / "verdict.sarif", verdict_sarif(self.comparison.findings, self.artifact, self.profile))
        write_atomic(out / "verdict.json", verdict_json(self.view, self.comparison.findings, self.profile))

    def summary(self) -> str:
        """The report as Markdown, for a page that a CI system shows."""
        return markdown(self.view)

    def show(self, console: Console) -> None:
        """Print the report to a terminal."""
        print_view(self.view, console)
