"""The commands that keep the ledger of uploads."""

from __future__ import annotations

import datetime
import hashlib
import math
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.console import Console

from scorer import ledger
from scorer.artifact import Artifact
from scorer.cli.errors import PASS, InputError, command
from scorer.cli.reviewing import Contest, checked_profile
from scorer.compare.verdict import Verdict as Decision
from scorer.contest import Profile
from scorer.ledger.records import uploads
from scorer.report.json_report import Verdict
from scorer.report.upload_table import print_uploads

FILE = "uploads.jsonl"

app = typer.Typer(no_args_is_help=True, help="Keep the ledger of uploads, which a contest rations.")

Ledger = Annotated[
    Path | None,
    typer.Option("--ledger", help=f"The ledger [default: {FILE} beside the nearest pyproject.toml above]."),
]
Date = Annotated[
    datetime.datetime | None, typer.Option("--date", formats=["%Y-%m-%d"], help="Day of it [default: today, in UTC].")
]
Note = Annotated[str, typer.Option("--note", help="Anything worth knowing later.")]


@app.command()
@command
def record(
    artifact: Annotated[Path, typer.Argument(help="Directory that `builder produce` wrote, as it was uploaded.")],
    report: Annotated[
        Path | None, typer.Option("--report", help="Directory of its parity report, whose verdict is recorded.")
    ] = None,
    bpb: Annotated[float | None, typer.Option("--bpb", help="The organiser's score, where it is known.")] = None,
    note: Note = "",
    date: Date = None,
    file: Ledger = None,
    contest: Contest = "embedded",
) -> int:
    """Record an upload: the artifact's hash, knobs, launch, its verdict and its score.

    Example:

        scorer upload record build/baseline/artifact --report build/baseline/report --note "deeper"
    """
    profile = checked_profile(contest)
    submission = Artifact.load(artifact)
    _check_contest(submission, profile)
    document = None if report is None else _verdict(report / "verdict.json", submission)
    entry = ledger.of_artifact(
        submission,
        profile,
        _day(date),
        verdict=None if document is None else document[0],
        verdict_sha256=None if document is None else document[1],
        bpb=None if bpb is None else _score(bpb),
        note=note,
    )
    records = ledger.append(_place(file), entry)
    print(f"{submission.sha256[:12]} is recorded; {ledger.week(records, profile, entry.date)}")
    return PASS


@app.command()
@command
def score(
    artifact: Annotated[str, typer.Argument(help="First characters of the SHA-256 of a recorded artifact.")],
    bpb: Annotated[float, typer.Option("--bpb", help="The organiser's score.")],
    note: Note = "",
    date: Date = None,
    file: Ledger = None,
    contest: Contest = "embedded",
) -> int:
    """Record the score of an earlier upload, when the organiser tells it.

    Example:

        scorer upload score 9f03395fad98 --bpb 0.9871
    """
    profile = checked_profile(contest)
    path = _existing(_place(file))
    known = {upload.artifact_sha256 for upload in uploads(ledger.read(path), profile.name)}
    found = sorted(sha256 for sha256 in known if sha256.startswith(artifact.lower()))
    if len(found) != 1:
        what = "no upload" if not found else f"{len(found)} uploads"
        raise InputError(
            f"{artifact}: {what} of {profile.name} in {path}; name one that `scorer upload list` shows, by more of it"
        )
    entry = ledger.Score(date=_day(date), contest=profile.name, artifact_sha256=found[0], bpb=_score(bpb), note=note)
    ledger.append(path, entry)
    print(f"{found[0][:12]} scored {bpb:g}")
    return PASS


@app.command("list")
@command
def list_uploads(date: Date = None, file: Ledger = None, contest: Contest = "embedded") -> int:
    """List the uploads to a contest, what each changed, and how many the week of a date has left.

    Example:

        scorer upload list --contest trainium-frontier-phase1 --date 2026-09-03
    """
    profile = checked_profile(contest)
    records = ledger.read(_existing(_place(file)))
    print_uploads(uploads(records, profile.name), Console(width=120, emoji=False))
    print(ledger.week(records, profile, _day(date)))
    return PASS


def changes(path: Path, artifact: Artifact, profile: Profile) -> ledger.Changes | None:
    """How an artifact differs from the last upload to its contest; None where there was none.

    Raises InputError for a ledger that is not there, LedgerError for one that cannot be read.
    """
    last = ledger.last_upload(ledger.read(_existing(path)), profile.name)
    if last is None:
        return None
    return ledger.changes(last, ledger.of_artifact(artifact, profile, last.date))


def _place(file: Path | None) -> Path:
    if file is not None:
        return file
    here = Path.cwd()
    for directory in (here, *here.parents):
        if (directory / "pyproject.toml").is_file():
            return directory / FILE
    raise InputError(f"{here}: no pyproject.toml here or above, beside which {FILE} would be; name one with --ledger")


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"{path}: no such ledger; `scorer upload record` makes it, --ledger names another")
    return path


def _day(date: datetime.datetime | None) -> datetime.date:
    return (date or datetime.datetime.now(datetime.UTC)).date()


def _score(bpb: float) -> float:
    if not (math.isfinite(bpb) and bpb > 0):
        raise InputError(f"--bpb {bpb}: expected bits per byte, a number above 0")
    return bpb


def _check_contest(artifact: Artifact, profile: Profile) -> None:
    built = ((artifact.manifest or {}).get("contest") or {}).get("name", profile.name)
    if built != profile.name:
        raise InputError(f"--contest {profile.name}: the artifact was built for {built}; give --contest {built}")


def _verdict(path: Path, artifact: Artifact) -> tuple[Decision, str]:
    """The verdict in a verdict.json of this very artifact, and the file's SHA-256."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; --report names a directory that `scorer parity` wrote")
    content = path.read_bytes()
    try:
        document = Verdict.model_validate_json(content)
    except ValidationError as error:
        raise InputError(f"{path}: not a verdict ({error.errors()[0]['msg']}); run `scorer parity` again") from error
    if document.artifact_sha256 != artifact.sha256:
        raise InputError(
            f"{path}: the verdict of {document.artifact_sha256[:12]}, and {artifact.train_py} is "
            f"{artifact.sha256[:12]}; run `scorer parity` on what was uploaded"
        )
    return document.verdict, hashlib.sha256(content).hexdigest()
