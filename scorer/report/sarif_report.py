"""`verdict.sarif`: a verdict's findings where code hosts show them: at the lines of the recipe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scorer import listing
from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.findings import Finding, Place
from scorer.report.words import plain


def verdict_sarif(findings: Sequence[Finding], artifact: Artifact, profile: Profile) -> str:
    """Render the findings, and what their codes mean, as SARIF 2.1.0 that ends with a newline."""
    located = [_located(found, artifact) for found in findings]
    return listing.sarif(located, profile, "scorer", sorted({found.code for found in findings})) + "\n"


def _located(found: Finding, artifact: Artifact) -> listing.Located:
    """A finding at its line; the files' names are relative to where the recipe is imported from."""
    found = found.model_copy(update={"message": plain(found.message)})
    if found.artifact_line is not None:
        text = artifact.source.split("\n")[found.artifact_line - 1 :][:1]
        name = Path(artifact.train_py.name)
        line, column, end = found.artifact_line, found.artifact_column, found.artifact_end
        return listing.Located(found, name, line, column, end, "".join(text))
    place = found.place or _whole(artifact)
    return listing.Located(found, Path(place.file), place.line, None, None, "")


def _whole(artifact: Artifact) -> Place:
    """The line that stands for the whole run, since code hosts show nothing without one: the first of the module that
    the file ends with, which is the recipe's entry."""
    files = [place.file for place in artifact.places or () if place is not None]
    return Place(file=files[-1] if files else artifact.train_py.name, line=1)
