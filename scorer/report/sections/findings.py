"""The findings, each with the documentation of its code."""

from __future__ import annotations

from dataclasses import dataclass

from scorer.findings import CODES, Finding, Severity
from scorer.report.words import plain, told


@dataclass(frozen=True)
class FindingView:
    """One finding with the documentation of its code."""

    code: str
    title: str
    message: str
    hard: bool
    place: str  # "recipe/model.py:12", or "" when the finding has none
    artifact_line: int | None
    where: str  # "artifact lane, rank 0, update 3", or ""
    evidence: tuple[tuple[str, str], ...]
    why: str
    remedy: str
    example: str  # code that raises it, or ""


def finding_view(found: Finding) -> FindingView:
    """Join a finding with the documentation of its code."""
    code = CODES[found.code]
    where = [f"{found.lane} lane"] if found.lane else []
    where += [f"rank {found.rank}"] if found.rank is not None else []
    where += [f"update {found.update}"] if found.update is not None else []
    return FindingView(
        code=found.code,
        title=code.title,
        message=plain(found.message),
        hard=found.severity is Severity.HARD,
        place=str(found.place) if found.place else "",
        artifact_line=found.artifact_line,
        where=", ".join(where),
        evidence=tuple((name, plain(told(found.evidence[name]))) for name in sorted(found.evidence)),
        why=code.why,
        remedy=code.remedy,
        example=code.example,
    )
