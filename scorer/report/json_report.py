"""`verdict.json`: the verdict and everything that led to it, for programs.

The document is stable: fields are added, never renamed or given another meaning, while `schema_version` stays the same.
`scorer schema verdict` prints its JSON schema. Numbers are decimal; those that are compared bit for bit are in the
receipts, as `float.hex()`.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from pydantic import BaseModel, ConfigDict, Field

from scorer.compare.verdict import Verdict as Decision
from scorer.contest import Profile
from scorer.findings import CODES, Finding
from scorer.ledger import Changes
from scorer.report.view import View

SCHEMA_VERSION = 1


class Part(BaseModel):
    """Base of every part of the document."""

    model_config = ConfigDict(extra="forbid")


class VerdictFinding(Part):
    """A finding, with the documentation of its code."""

    code: str
    title: str
    severity: str = Field(description="hard (decides the verdict) or advice")
    message: str
    place: str | None = Field(description="recipe file:line that it comes from")
    artifact_line: int | None = Field(description="line of train.py, from 1")
    lane: str | None
    rank: int | None
    update: int | None = Field(description="optimizer update, from 0")
    evidence: dict[str, str]
    why: str
    remedy: str
    example: str = Field(default="", description="code that raises it; empty where it is not about code")


class VerdictRow(Part):
    """A row of the three-column table, as text."""

    label: str
    local: str
    artifact: str
    trusted: str
    agree: bool | None = Field(description="null where the row is not a comparison")


class VerdictOffset(Part):
    """A named part of the way from the recipe's own number to the official one, in bits per byte."""

    name: str
    from_bpb: float
    to_bpb: float
    part_bpb: float
    reaches: str = Field(description="what to_bpb is: an evaluation's name, or what is expected")
    spread_bpb: float | None = Field(description="of a part that is expected by the profile; null where it is measured")


class VerdictKernel(Part):
    """Launches of a kernel per update and rank; a range reads `0 to 9`."""

    kernel: str
    expected: str
    local: str
    artifact: str
    agree: bool
    place: str


class VerdictTime(Part):
    """Real seconds of a lane, by phase."""

    lane: str
    total: float
    parts: dict[str, float]


class VerdictVariable(Part):
    """An environment variable that differs between the lanes or that matters."""

    name: str
    local: str
    artifact: str
    agree: bool
    matters: str = Field(description="numerics, speed or execution; empty where nothing is known")


class VerdictKnob(Part):
    """A knob that changed since the last upload: its values as JSON; empty where it has none."""

    name: str
    before: str
    after: str


class VerdictUpload(Part):
    """The last upload that the ledger knows, and what changed since."""

    date: str
    artifact_sha256: str
    bpb: float | None = Field(description="the organiser's score, where it is known")
    knobs: list[VerdictKnob]
    files: str = Field(description="a sentence on train.py, its sources and the launch string")


class Verdict(Part):
    """The whole document."""

    schema_version: int = SCHEMA_VERSION
    verdict: Decision
    reason: str
    contest: str
    contest_version: int
    artifact_sha256: str
    launch: str
    first_divergence: int | None = Field(description="first update whose losses differ between local and artifact")
    findings: list[VerdictFinding] = Field(description="the most telling first")
    rows: list[VerdictRow]
    offsets: list[VerdictOffset]
    kernels: list[VerdictKernel]
    times: list[VerdictTime]
    environment: list[VerdictVariable]
    last_upload: VerdictUpload | None = Field(default=None, description="null where no ledger was named, or has none")
    provenance: dict[str, str]


def verdict_json(view: View, findings: list[Finding], profile: Profile) -> str:
    """Render the document as sorted, indented JSON that ends with a newline."""
    document = Verdict(
        verdict=view.verdict,
        reason=view.reason,
        contest=profile.name,
        contest_version=profile.version,
        artifact_sha256=view.subject,
        launch=view.launch,
        first_divergence=view.curves.divergence,
        findings=[
            VerdictFinding(
                code=shown.code,
                title=shown.title,
                severity=found.severity.value,
                message=shown.message,
                place=shown.place or None,
                artifact_line=found.artifact_line,
                lane=found.lane,
                rank=found.rank,
                update=found.update,
                evidence=dict(shown.evidence),
                why=CODES[found.code].why,
                remedy=CODES[found.code].remedy,
                example=CODES[found.code].example,
            )
            for found, shown in zip(findings, view.findings, strict=True)
        ],
        rows=[VerdictRow(**asdict(row)) for row in view.rows],
        offsets=[VerdictOffset(**asdict(bar.offset)) for bar in (view.waterfall.bars if view.waterfall else ())],
        kernels=[
            VerdictKernel(**{name: value for name, value in asdict(kernel).items() if name != "shapes"})
            for kernel in view.kernels
        ],
        times=[
            VerdictTime(lane=time.lane, total=time.total, parts={name: seconds for name, seconds, _ in time.parts})
            for time in view.times
        ],
        environment=[VerdictVariable(**asdict(variable)) for variable in view.environment],
        last_upload=None if view.since is None else _upload(view.since),
        provenance=dict(view.provenance),
    )
    return json.dumps(document.model_dump(mode="json"), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _upload(found: Changes) -> VerdictUpload:
    return VerdictUpload(
        date=found.since.date.isoformat(),
        artifact_sha256=found.since.artifact_sha256,
        bpb=found.since.bpb,
        knobs=[VerdictKnob(**asdict(knob)) for knob in found.knobs],
        files=found.sentence,
    )
