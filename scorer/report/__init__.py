"""Reports: the terminal table, verdict.json, junit.xml and report.html, all printed from one view of a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from scorer.artifact import Artifact
from scorer.compare import Comparison
from scorer.contest import Profile
from scorer.files import write_atomic
from scorer.report.html import page
from scorer.report.json_report import verdict_json
from scorer.report.junit import junit_xml
from scorer.report.terminal import print_view
from scorer.report.view import view
from scorer.room import receipts as receipt_files
from scorer.room.receipts import Lane, Receipt

__all__ = ["show", "write"]


def write(
    comparison: Comparison, receipts: Mapping[Lane, Receipt], artifact: Artifact, profile: Profile, out: Path
) -> None:
    """Write `verdict.json`, `junit.xml`, `report.html` and `receipts/LANE.json` into `out`, each atomically.

    The same comparison and receipts give the same bytes. Raises OSError when the directory cannot be written.
    """
    shown = view(comparison, receipts, artifact, profile)
    for lane in sorted(receipts):
        receipt_files.write(receipts[lane], out / "receipts" / f"{lane.value}.json")
    write_atomic(out / "report.html", page(shown))
    write_atomic(out / "junit.xml", junit_xml(shown))
    write_atomic(out / "verdict.json", verdict_json(shown, comparison.findings, profile))


def show(
    comparison: Comparison,
    receipts: Mapping[Lane, Receipt],
    artifact: Artifact,
    profile: Profile,
    console: Console,
) -> None:
    """Print the report to a terminal."""
    print_view(view(comparison, receipts, artifact, profile), console)
