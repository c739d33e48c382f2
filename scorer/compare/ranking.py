"""What the contest ranks by, against what was measured."""

from __future__ import annotations

from scorer.compare.case import Case
from scorer.findings import Finding, Severity, define, finding

SCR008 = define(
    "SCR008",
    title="A part of the contest's score is not measured here",
    why="The contest ranks by more than the number that was measured; a verdict says nothing of the rest.",
    remedy="Measure it with the organiser's own tools, and read the verdict as one of the measured part alone.",
    severity=Severity.ADVICE,
)

MEASURED = "val_bpb"


def compare(case: Case) -> list[Finding]:
    """One finding for each part of the score that the trusted lane does not measure."""
    if case.trusted is None:
        return []
    return [
        finding(SCR008, f"{part.name}, {part.weight:.0%} of the contest's score, is not measured", lane="trusted")
        for part in case.profile.evaluation.score
        if part.name != MEASURED
    ]
