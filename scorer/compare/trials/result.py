"""What a trial says."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from scorer.artifact import Artifact
from scorer.compare import verdict
from scorer.contest import Profile
from scorer.findings import Finding, Severity

SCHEMA_VERSION = 1


class Part(BaseModel):
    """Base of every part of the document: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid")


class Limit(Part):
    """A line that no bar should cross."""

    name: str
    value: float


class Bar(Part):
    """A value of the picture, with the interval that it lies in where there is one."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None


class Picture(Part):
    """What a page draws of a trial: bars on one axis, and the limits on it."""

    title: str
    unit: str
    form: str = Field(description="how a value is printed, as Python's format() takes it: .1f")
    bars: list[Bar]
    limits: list[Limit]


class Trial(Part):
    """The document `trial.json`: the verdict of one trial and everything that led to it."""

    schema_version: int = SCHEMA_VERSION
    trial: Literal["environment", "clock", "speed", "world"]
    contest: str
    contest_version: int
    artifact_sha256: str
    launch: str
    verdict: Literal["pass", "fail", "inconclusive"]
    reason: str
    facts: dict[str, str] = Field(description="what the trial was made with")
    columns: list[str]
    rows: list[list[str]] = Field(description="one for each run, in the order of `columns`")
    picture: Picture | None = None
    findings: list[Finding] = Field(description="the most telling first")

    def json_text(self) -> str:
        """Sorted, indented JSON that ends with a newline."""
        return json.dumps(self.model_dump(mode="json"), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def conclude(
    artifact: Artifact,
    launch: str,
    profile: Profile,
    findings: Iterable[Finding],
    passed: str,
    question: str = "",
    **fields: Any,
) -> Trial:
    """The trial with its verdict; `passed` is the reason where nothing stands against the artifact, `question` what is
    left open.
    """
    ordered = verdict.ordered(verdict.weighed(findings, profile))
    hard = [found for found in ordered if found.severity is Severity.HARD and not verdict.undecided(found)]
    missing = [found for found in ordered if verdict.undecided(found)]
    decision: verdict.Verdict
    if hard:
        decision, reason = "fail", verdict.in_short(hard[0])
    elif missing or question:
        decision, reason = "inconclusive", question or missing[0].message
    else:
        decision, reason = "pass", passed
    return Trial(
        contest=profile.name,
        contest_version=profile.version,
        artifact_sha256=artifact.sha256,
        launch=launch,
        verdict=decision,
        reason=reason,
        findings=ordered,
        **fields,
    )
