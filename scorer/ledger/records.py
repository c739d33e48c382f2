"""What stands in a ledger: uploads, and scores that became known later."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from scorer.artifact import Artifact
from scorer.compare.verdict import Verdict
from scorer.contest import Profile

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Entry(BaseModel):
    """Base of every line: unknown fields are errors, and so are numbers that are none."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    schema_version: Literal[1] = 1
    date: datetime.date  # of the upload, or of the day on which the score became known
    contest: str
    artifact_sha256: Sha256
    note: str = ""


class Upload(Entry):
    """One upload of an artifact, with everything of its manifest that can change between two of them."""

    kind: Literal["upload"] = "upload"
    contest_version: int
    size_bytes: int
    launch: str
    knobs: dict[str, Any]  # frozen name -> value
    sources: dict[str, str]  # file of the recipe -> SHA-256
    commit: str | None
    verdict: Verdict | None  # None: none was given
    verdict_sha256: Sha256 | None  # of its verdict.json
    bpb: float | None  # the organiser's score, where it is known


class Score(Entry):
    """The score of an upload that was recorded without one, or with another; the last one counts."""

    kind: Literal["score"] = "score"
    bpb: float


Record = Annotated[Upload | Score, Field(discriminator="kind")]


def of_artifact(
    artifact: Artifact,
    profile: Profile,
    date: datetime.date,
    *,
    verdict: Verdict | None = None,
    verdict_sha256: str | None = None,
    bpb: float | None = None,
    note: str = "",
) -> Upload:
    """The record of an artifact's upload. One that the builder did not make has no knobs and no sources to tell."""
    manifest = artifact.manifest or {}
    return Upload(
        date=date,
        contest=profile.name,
        contest_version=profile.version,
        artifact_sha256=artifact.sha256,
        size_bytes=len(artifact.source.encode()),
        launch=artifact.launch_command,
        knobs={name: knob["value"] for name, knob in manifest.get("knobs", {}).items()},
        sources=dict(manifest.get("sources", {})),
        commit=(manifest.get("git") or {}).get("commit"),
        verdict=verdict,
        verdict_sha256=verdict_sha256,
        bpb=bpb,
        note=note,
    )


def last_upload(records: Sequence[Upload | Score], contest: str) -> Upload | None:
    """The last upload to a contest, with the last score that is known of it."""
    found = uploads(records, contest)
    return found[-1] if found else None


def uploads(records: Sequence[Upload | Score], contest: str) -> list[Upload]:
    """The uploads to a contest in the order in which they were recorded, each with the last score known of it."""
    found: list[Upload] = []
    for record in records:
        if record.contest != contest:
            continue
        if isinstance(record, Upload):
            found.append(record)
            continue
        for index, upload in enumerate(found):
            if upload.artifact_sha256 == record.artifact_sha256:
                found[index] = upload.model_copy(update={"bpb": record.bpb})
    return found
