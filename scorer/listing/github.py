"""Findings as GitHub's workflow commands, which become annotations at the lines of a pull request.

Form and escapes: docs.github.com, "Workflow commands for GitHub Actions", setting an error message.
"""

from __future__ import annotations

from collections.abc import Sequence

from scorer.listing.located import Located


def github(findings: Sequence[Located]) -> str:
    """One command and line a finding, at its place in the recipe where the file was built from one."""
    return "".join(f"{_command(found)}\n" for found in findings)


def _command(found: Located) -> str:
    properties: dict[str, str | int] = {}
    if found.source is not None:
        properties["file"], properties["line"] = found.source
    else:
        properties["file"], properties["line"] = found.path.as_posix(), found.line
        if found.column is not None:
            properties["col"] = found.column
        if found.end is not None:
            properties["endLine"] = found.end[0]
            if found.end[0] == found.line:  # GitHub takes columns of one line only
                properties["endColumn"] = max(found.end[1] - 1, found.column or 1)
    properties["title"] = f"{found.finding.code} {found.code.title}"
    stated = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    command = "error" if found.hard else "warning"
    text = _data(f"{found.finding.message}\n{found.code.remedy}")
    return f"::{command} {stated}::{text}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
