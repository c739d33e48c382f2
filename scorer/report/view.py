"""What every report shows, drawn from a comparison and its receipts: plain values, in display order, ready to print.

`view()` and the sections it is made of are the only readers of receipts in this package; the terminal, the page, the
JSON, JUnit and SARIF files and the summary print what it returns and compute nothing. Nothing in it depends on the
clock, the machine's paths or the order of dictionaries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scorer.artifact import Artifact
from scorer.compare import Comparison, Row
from scorer.compare.case import Case
from scorer.compare.operators import Change
from scorer.compare.verdict import Verdict
from scorer.contest import Profile
from scorer.ledger import Changes
from scorer.report.sections import lanes
from scorer.report.sections.curves import Curves, curves
from scorer.report.sections.environment import EnvironmentView, environment
from scorer.report.sections.findings import FindingView, finding_view
from scorer.report.sections.kernels import KernelView, kernels
from scorer.report.sections.knobs import KnobView, knobs
from scorer.report.sections.offsets import Waterfall, waterfall
from scorer.report.sections.operators import operators
from scorer.report.sections.provenance import provenance
from scorer.report.sections.purity import PurityView, purity
from scorer.report.sections.sources import SourceView, sources
from scorer.report.sections.times import PhaseRow, TimeView, phases, times
from scorer.report.words import plain
from scorer.room.receipts import Lane, Receipt

OPERATORS = 8
"""Changed operators that are shown at once; the others on demand."""


@dataclass(frozen=True)
class View:
    """Everything a report shows."""

    verdict: Verdict
    reason: str  # the comparison's own words
    sentence: str  # the same without the first finding, which is shown by itself
    contest: str
    contest_name: str
    subject: str  # artifact's SHA-256
    size_bytes: int
    size_limit_bytes: int
    launch: str
    headline: tuple[tuple[str, str, str], ...]  # (label, value, note)
    first: FindingView | None
    first_label: str
    findings: tuple[FindingView, ...]  # the most telling first
    troubles: tuple[lanes.TroubleView, ...]
    columns: tuple[tuple[str, str], ...]  # (field of the rows, lane): columns that say anything
    rows: tuple[Row, ...]
    curves: Curves
    waterfall: Waterfall | None
    kernels: tuple[KernelView, ...]
    operators: tuple[Change, ...]
    operators_compared: int
    times: tuple[TimeView, ...]
    phases: tuple[PhaseRow, ...]
    environment: tuple[EnvironmentView, ...]
    knobs: tuple[KnobView, ...]
    since: Changes | None  # the last upload
    purity: tuple[PurityView, ...]
    purity_seconds: float | None
    sources: tuple[SourceView, ...]
    provenance: tuple[tuple[str, str], ...]

    @property
    def hard(self) -> tuple[FindingView, ...]:
        """Findings that decide the verdict."""
        return tuple(finding for finding in self.findings if finding.hard)

    @property
    def advice(self) -> tuple[FindingView, ...]:
        """Findings that are shown only."""
        return tuple(finding for finding in self.findings if not finding.hard)


def view(
    comparison: Comparison,
    receipts: Mapping[Lane, Receipt],
    artifact: Artifact,
    profile: Profile,
    since: Changes | None = None,
    recipe: Path | None = None,
) -> View:
    """Draw everything that the reports show from a comparison and the receipts it was made of.

    `recipe` is the directory that the recipe is imported from, for excerpts of its lines.
    """
    case = Case(artifact, receipts, profile)
    spans = times(case)
    candidate = case.artifact_lane
    shown = [finding_view(finding) for finding in comparison.findings]
    changes, compared = operators(case)
    launched = kernels(case)
    named = [(one.place, one.artifact_line) for one in shown]
    named += [(str(change.place or ""), change.line) for change in changes[:OPERATORS]]
    named += [(kernel.place, None) for kernel in launched]
    return View(
        verdict=comparison.verdict,
        reason=plain(comparison.reason),
        sentence=_sentence(comparison, shown),
        contest=profile.title,
        contest_name=f"{profile.name} v{profile.version}",
        subject=artifact.sha256,
        size_bytes=len(artifact.source.encode()),
        size_limit_bytes=profile.files.size_limit_bytes,
        launch=candidate.launch.text if candidate and candidate.launch else artifact.launch_command,
        headline=lanes.headline(receipts),
        first=shown[0] if shown and comparison.verdict != "pass" else None,
        first_label=_first_label(comparison, shown),
        findings=tuple(shown),
        troubles=lanes.troubles(receipts),
        columns=lanes.columns(comparison, receipts),
        rows=lanes.rows(comparison),
        curves=curves(case),
        waterfall=waterfall(comparison),
        kernels=launched,
        operators=changes,
        operators_compared=compared,
        times=spans,
        phases=phases(spans),
        environment=environment(case),
        knobs=knobs(case),
        since=since,
        purity=purity(case.trusted),
        purity_seconds=case.trusted.purity_seconds if case.trusted else None,
        sources=sources(named, artifact, recipe),
        provenance=provenance(case),
    )


_DIFFERENCES = ("KNB", "ENV", "KRN", "OPS", "LCK", "SCR")


def _sentence(comparison: Comparison, shown: Sequence[FindingView]) -> str:
    hard = sum(finding.hard for finding in shown)
    if comparison.verdict == "fail":
        return (
            f"{hard} findings stand against the submission."
            if hard > 1
            else "One finding stands against the submission."
        )
    if comparison.verdict == "inconclusive" and shown:
        return "The evidence does not decide: nothing stands against the submission, nothing was refuted."
    reason = plain(comparison.reason)
    return f"{reason[:1].upper()}{reason[1:]}" + ("" if reason.endswith(".") else ".")


def _first_label(comparison: Comparison, shown: Sequence[FindingView]) -> str:
    if comparison.verdict == "inconclusive":
        return "What is missing"
    return "First difference" if shown and shown[0].code.startswith(_DIFFERENCES) else "First finding"
