"""The static review's commands. They start at once: nothing that runs or scores a model is imported for them."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from scorer import listing
from scorer.artifact import MANIFEST_FILE, Artifact
from scorer.cli.errors import FAIL, PASS, InputError, command
from scorer.contest import Profile, load
from scorer.findings import CODES
from scorer.review import ALL_RULES, review

Contest = Annotated[str, typer.Option("--contest", help="Contest profile: a name, or a path to a YAML file.")]
Files = Annotated[
    list[Path] | None,
    typer.Option(
        "--file",
        help="Another file of the submission (a kernel); may be repeated. What the contest requires "
        "is taken from beside the first.",
    ),
]


class FindingFormat(StrEnum):
    """How the findings of a review are printed."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


@command
def check(
    train_py: Annotated[
        list[Path], typer.Argument(help="A submission's file, or a directory that the builder wrote; several are too.")
    ],
    file: Files = None,
    contest: Contest = "embedded",
    output_format: Annotated[
        FindingFormat, typer.Option("--format", help="How to print the findings.")
    ] = FindingFormat.TEXT,
) -> int:
    """Review files by the contest's static rules, without running them.

    Example:

        scorer check train.py --format sarif
    """
    profile = checked_profile(contest)
    if file and len(train_py) > 1:
        raise InputError("--file: names another file of one submission, and several are named; check them one by one")
    found: list[listing.Located] = []
    for path in train_py:
        artifact = read_submission(path, "", profile, file)
        found += listing.locate(artifact, review(artifact, profile))
    if output_format is FindingFormat.TEXT:
        listing.print_located(found, _console())
    elif output_format is FindingFormat.GITHUB:
        print(listing.github(found), end="")
    else:
        print(listing.as_json(found) if output_format is FindingFormat.JSON else listing.sarif(found, profile))
    return FAIL if any(located.hard for located in found) else PASS


@command
def rules(
    code: Annotated[list[str] | None, typer.Argument(help="Codes of rules to explain [default: list all].")] = None,
    contest: Contest = "embedded",
) -> int:
    """List the static rules with their weight in a contest, or explain some of them.

    Example:

        scorer rules REV010
    """
    profile = checked_profile(contest)
    if not code:
        listing.print_rules(ALL_RULES, profile, _console())
        return PASS
    known = {rule.code: rule for rule in ALL_RULES}
    for wanted in code:
        if wanted.upper() not in known:
            raise InputError(f"{wanted}: no rule has this code; `scorer rules` lists them all")
    for wanted in code:
        listing.print_rule(known[wanted.upper()], profile, _console())
    return PASS


def checked_profile(contest: str) -> Profile:
    """The contest's profile, its rules checked against the table of finding codes."""
    profile = load(contest)
    if not profile.rules.keys() <= CODES.keys():
        import scorer.cli.runs
        import scorer.trusted.judge  # noqa: F401  (both: what enters the other codes into the table)
    return load(contest, CODES) if profile.rules else profile


def read_submission(path: Path, launch: str, profile: Profile, others: list[Path] | None = None) -> Artifact:
    """A train.py, or a directory: the builder's output (its train.py has the map beside it), or one that holds it.

    Raises InputError for a path where there is no submission.
    """
    script = profile.launch.script
    if path.is_dir() and not (path / MANIFEST_FILE).is_file():
        if not (path / script).is_file():
            raise InputError(f"{path}: holds no {script}; name the submission's file, or what `builder produce` wrote")
        path = path / script
    if not path.exists():
        raise InputError(f"{path}: no such file; name the submission's {script}, or what `builder produce` wrote")
    built = path if path.is_dir() else path.parent
    if path.is_dir() or (path.name == "train.py" and (built / "train.py.map").is_file()):
        return Artifact.load(built).with_others(profile, others or [])
    return Artifact.from_file(path, launch).with_others(profile, others or [])


def _console() -> Console:
    """Standard output: lines are never broken where it is piped."""
    return Console(width=None if sys.stdout.isatty() else 120)


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="markdown")
app.command()(check)
app.command()(rules)
