"""The type of a finding, and the table of every code that can be raised.

A finding is one typed difference or violation. Its code is stable: it never changes its meaning. A code's family is its
first three letters, and each family is raised by one room of the scorer (`FAMILIES`). Its documentation is what the
code that raises it says of it in `define`; every report, listing and page prints that.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

FAMILIES = {
    "REV": "static review",
    "RUN": "runs",
    "KNB": "knobs",
    "ENV": "environment",
    "LCK": "lockstep",
    "SPD": "speed",
    "WLD": "numbers of ranks",
    "OPT": "optimizers",
    "KRN": "kernel launches",
    "OPS": "operators",
    "CTL": "sensitivity control",
    "PUR": "purity",
    "CKP": "checkpoint",
    "SCR": "scores",
}
"""What the codes of a family are about."""


class Severity(StrEnum):
    """How much a finding weighs: a hard one fails the verdict, advice is shown only."""

    HARD = "hard"
    ADVICE = "advice"


class Place(BaseModel):
    """A line in the recipe (or, for a file without a source map, in the submission itself)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Code(BaseModel):
    """What one finding code means."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    why: str
    remedy: str
    severity: Severity = Severity.HARD
    example: str = ""  # code that raises it, where it is about code


CODES: dict[str, Code] = {}


def define(
    code: str, *, title: str, why: str, remedy: str, severity: Severity = Severity.HARD, example: str = ""
) -> str:
    """Enter a code into the table; each module defines its own codes once, beside the check that raises them."""
    if code in CODES:
        raise ValueError(f"finding code {code} is defined twice")
    if code[:3] not in FAMILIES:
        raise ValueError(f"finding code {code} is of no known family; the families are {', '.join(FAMILIES)}")
    CODES[code] = Code(title=title, why=why, remedy=remedy, severity=severity, example=example)
    return code


class Finding(BaseModel):
    """One difference or violation, with its evidence and the place in the recipe that it comes from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: str
    message: str
    severity: Severity
    place: Place | None = None
    artifact_line: int | None = None
    artifact_column: int | None = None  # in the submission's file, in characters, from 1
    artifact_end: tuple[int, int] | None = None  # line, and the column after the last character
    lane: str | None = None
    rank: int | None = None
    update: int | None = None
    evidence: dict[str, Any] = Field(default_factory=dict)

    @field_validator("code")
    @classmethod
    def _known(cls, code: str) -> str:
        if code not in CODES:
            raise ValueError(f"{code} is not in the table of finding codes")
        return code


def finding(code: str, message: str, **fields: Any) -> Finding:
    """Make a finding with the severity that the table gives; the profile may lower or raise it later."""
    fields.setdefault("severity", CODES[code].severity)
    return Finding(code=code, message=message, **fields)
