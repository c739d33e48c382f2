"""The static review's commands. They start at once: nothing that runs or scores a model is imported for them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from scorer import listing
from scorer.artifact import MANIFEST_FILE, MAP_FILE, Artifact
from scorer.cli.console import standard_output
from scorer.cli.errors import FAIL, PASS, InputError, command
from scorer.contest import Profile, load
from scorer.findings import CODES, Code
from scorer.review import ALL_RULES, SYNTAX, review

STATIC = {rule.code: CODES[rule.code] for rule in ALL_RULES}
"""Codes of the static rules."""

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
        listing.print_located(found, standard_output())
    elif output_format is FindingFormat.GITHUB:
        print(listing.github(found), end="")
    else:
        in_force = sorted(code for code in {SYNTAX, *STATIC} if profile.rules.get(code) != "off")
        sarif = output_format is FindingFormat.SARIF
        print(listing.sarif(found, profile, "scorer check", in_force) if sarif else listing.as_json(found))
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
    explain(STATIC, code, checked_profile(contest), "scorer rules")
    return PASS


def explain(codes: Mapping[str, Code], wanted: list[str] | None, profile: Profile, command: str) -> None:
    """List all of `codes`, or explain the wanted ones. Raises InputError for one that is not among them."""
    if not wanted:
        listing.print_codes(codes, profile, standard_output())
    named = [code.upper() for code in wanted or []]
    for code in named:
        if code not in codes:
            raise InputError(f"{code}: `{command}` knows no such code; without an argument it lists them all")
    for code in named:
        listing.print_code(code, codes[code], profile, standard_output())


def checked_profile(contest: str) -> Profile:
    """The contest's profile, its rules checked against the table of finding codes."""
    profile = load(contest)
    if not profile.rules.keys() <= CODES.keys():
        from scorer.report.codes import every_code

        every_code()
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
    if path.is_dir() or (f"{path.name}.map" == MAP_FILE and (built / MAP_FILE).is_file()):
        return Artifact.load(built).with_others(profile, others or [])
    return Artifact.from_file(path, launch).with_others(profile, others or [])


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="markdown")
app.command()(check)
app.command()(rules)
