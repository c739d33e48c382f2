"""A finding with the file that it is in, its line's text and its columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from scorer.artifact import Artifact
from scorer.findings import CODES, Code, Finding, Severity


@dataclass(frozen=True)
class Located:
    """One finding of a reviewed submission.

    Lines and columns are those of the reviewed file, from 1, columns in characters; `end` is after the last character.
    """

    finding: Finding
    path: Path  # the reviewed file, as the caller named it
    line: int
    column: int | None
    end: tuple[int, int] | None
    text: str  # of the line

    @property
    def code(self) -> Code:
        """What the finding's code means."""
        return CODES[self.finding.code]

    @property
    def hard(self) -> bool:
        """Whether it fails the review."""
        return self.finding.severity is Severity.HARD

    @property
    def source(self) -> tuple[str, int] | None:
        """(file, line) in the recipe, where the reviewed file was built from one."""
        place = self.finding.place
        built = self.finding.artifact_line is not None and place is not None and place.file != self.path.name
        return (place.file, place.line) if place is not None and built else None


def locate(artifact: Artifact, findings: Iterable[Finding]) -> list[Located]:
    """The findings of one submission, each with its file and line, in their order."""
    files = {other.member: other for other in artifact.others}
    lines = {file.train_py: file.source.split("\n") for file in (artifact, *artifact.others)}
    found = []
    for finding in findings:
        file = artifact
        if finding.artifact_line is None and finding.place is not None:
            file = files.get(finding.place.file, artifact)
        line = finding.artifact_line or (finding.place.line if finding.place else 1)
        text = lines[file.train_py]
        shown = text[line - 1].rstrip("\r") if line <= len(text) else ""
        found.append(Located(finding, file.train_py, line, finding.artifact_column, finding.artifact_end, shown))
    return found
