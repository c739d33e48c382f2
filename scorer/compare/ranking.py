"""What the contest ranks by, against what was measured."""

from __future__ import annotations

from scorer.compare.case import Case
from scorer.findings import Finding, Severity, define, finding

SCR008 = define(
    "SCR008",
    title="A part of the contest's score cannot be told here",
    why="The contest ranks by more than the number that was measured; a verdict says nothing of the rest.",
    remedy="Measure it with the organiser's own tools, and read the verdict as one of the measured part alone.",
    severity=Severity.ADVICE,
)

MEASURED = "val_bpb"


def compare(case: Case) -> list[Finding]:
    """One finding for each part of the score that the trusted lane does not measure, or not as the contest ranks it."""
    findings = []
    for part in case.profile.evaluation.score if case.trusted else []:
        share = f"{part.name}, {part.weight:.0%} of the contest's score"
        if part.name != MEASURED:
            limit = "" if part.timeout_seconds is None else f"; its measurement may take {part.timeout_seconds:g} s"
            findings.append(finding(SCR008, f"{share}, is not measured{limit}", lane="trusted"))
        elif part.normalised is not None:
            message = f"{share}, counts {part.normalised}-normalised over all entrants: its worth is not known here"
            findings.append(finding(SCR008, message, lane="trusted"))
    return findings
