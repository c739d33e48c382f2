"""The commands: what they take, and how the runs and reports are put together for each."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel
from rich.console import Console

from scorer import listing
from scorer.artifact import Artifact
from scorer.cli import runs, uploads
from scorer.cli.console import standard_output
from scorer.cli.errors import FAIL, INCONCLUSIVE, PASS, VERDICTS, InputError, command
from scorer.cli.output import OutputDirectory
from scorer.cli.progress import Progress
from scorer.cli.reviewing import Contest, Files, check, checked_profile, explain, read_submission, rules
from scorer.cli.runs import Bench
from scorer.compare import compare as compare_receipts
from scorer.compare.accounts import KernelReport
from scorer.compare.flame import UpdateProfile
from scorer.compare.trials.change import ChangeTrial
from scorer.compare.verdict import undecided, weighed
from scorer.contest import Profile, load, names
from scorer.files import ensure_writable, write_atomic
from scorer.findings import Finding, Severity
from scorer.report import Report
from scorer.report.codes import every_code
from scorer.report.json_report import Verdict
from scorer.report.profile_table import print_profile
from scorer.report.terminal import print_evaluations, print_findings, print_purity
from scorer.room import receipts as receipt_files
from scorer.room.cleanroom import guard
from scorer.room.kit import KitPaths, ensure_kit
from scorer.room.lane import LaneSpec
from scorer.room.launch import parse, parse_local
from scorer.room.receipts import Lane, Outcome, Receipt

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Judge a training submission: run recipe, artifact and trusted scorer side by side and explain every "
    "difference.\n\nExit codes: 0 pass, 1 fail, 2 bad input, 3 inconclusive.",
)
lane_app = typer.Typer(no_args_is_help=True, help="Run one lane alone and leave its receipt.")
contest_app = typer.Typer(no_args_is_help=True, help="Read contest profiles.")
app.add_typer(lane_app, name="lane")
app.add_typer(contest_app, name="contest")
app.add_typer(uploads.app, name="upload")

Kit = Annotated[
    Path | None, typer.Option("--kit", help="Directory with the organiser's kit [default: the contest's own].")
]
KitHash = Annotated[str | None, typer.Option("--kit-sha256", help="SHA-256 that the kit's file must have.")]
Launch = Annotated[str, typer.Option("--launch", help="The launch string, exactly as it would be uploaded.")]
ArtifactDir = Annotated[Path, typer.Option("--artifact", help="Directory that `builder produce` wrote.")]
LocalLaunch = Annotated[str, typer.Option("--local", help="How the author runs the recipe: NAME=VALUE... torchrun ...")]
LocalRoot = Annotated[Path, typer.Option("--local-root", help="Directory that the recipe is imported from.")]
LocalEnvironment = Annotated[
    list[str] | None, typer.Option("--local-env", help="NAME=VALUE of the author's environment; may be repeated.")
]
Cold = Annotated[bool, typer.Option("--cold", help="Start with empty compile caches.")]
OutDir = Annotated[Path, typer.Option("-o", "--out", help="Directory for the results; appears whole or not at all.")]


class Document(StrEnum):
    """Documents that have a schema."""

    RECEIPT = "receipt"
    VERDICT = "verdict"
    KERNELS = "kernels"
    PROFILE = "profile"
    TRIAL = "trial"
    CONTEST = "contest"


@app.command()
@command
def parity(
    artifact: ArtifactDir,
    local: LocalLaunch,
    out: OutDir,
    local_root: LocalRoot = Path(),
    local_env: LocalEnvironment = None,
    contest: Contest = "embedded",
    kit: Kit = None,
    kit_sha256: KitHash = None,
    cold: Cold = False,
    ledger: Annotated[
        Path | None, typer.Option("--ledger", help="Ledger of uploads: the report tells what changed since the last.")
    ] = None,
    strictly: Annotated[bool, typer.Option("--strict", help="Advice counts as much as any other finding.")] = False,
) -> int:
    """Run recipe, artifact and trusted scorer side by side and say pass, or exactly why not.

    Writes report.html, summary.md, verdict.json, verdict.sarif, junit.xml, receipts/*.json and lanes/ (each lane's log
    and checkpoint); the summary is appended to $GITHUB_STEP_SUMMARY where that is set.

    Example:

        scorer parity --artifact build/embedded/artifact -o build/embedded/report
        --local "NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=2 -m recipe --config embedded"
    """
    profile = strict(checked_profile(contest)) if strictly else checked_profile(contest)
    submission = Artifact.load(artifact).with_others(profile)
    plan, local_plan = parse(submission.launch_command, profile.launch), parse_local(local)
    root, environment = existing_directory(local_root), assignments(local_env or [])
    caches = "cold" if cold else "warm"
    since = None if ledger is None else uploads.changes(ledger, submission, profile)
    with open_bench(profile, kit, kit_sha256, out) as (bench, directory):
        comparison, receipts = runs.parity(bench, submission, plan, root, local_plan, environment, caches)
        report = _keep(Report(comparison, receipts, submission, profile, since, root), directory)
    return _tell(report, out)


@app.command()
@command
def rehearse(
    train_py: Annotated[Path, typer.Argument(help="The submission's file, or a directory that the builder wrote.")],
    launch: Launch,
    out: OutDir,
    file: Files = None,
    contest: Contest = "embedded",
    kit: Kit = None,
    kit_sha256: KitHash = None,
) -> int:
    """Run the exact bytes with the exact launch string: real clock, cold caches, nothing added; then score them.

    Example:

        scorer rehearse train.py -o build/rehearsal
        --launch "NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=2 train.py"
    """
    profile = checked_profile(contest)
    submission = read_submission(train_py, launch, profile, file)
    plan = parse(launch, profile.launch)
    with open_bench(profile, kit, kit_sha256, out) as (bench, directory):
        comparison, receipts = runs.rehearse(bench, submission, plan)
        report = _keep(Report(comparison, receipts, submission, profile), directory)
    return _tell(report, out)


@app.command()
@command
def score(
    train_py: Annotated[Path, typer.Argument(help="The submission's file, or a directory that the builder wrote.")],
    checkpoint: Annotated[Path, typer.Option("--checkpoint", help="The checkpoint that the submission saved.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Write the receipt (JSON) to this file.")] = None,
    file: Files = None,
    contest: Contest = "embedded",
    kit: Kit = None,
    kit_sha256: KitHash = None,
) -> int:
    """Score a checkpoint through the submission's `load_for_eval`, in a process of its own, and test its purity.

    Example:

        scorer score train.py --checkpoint out/final.pt -o score.json
    """
    profile = checked_profile(contest)
    submission = read_submission(train_py, "", profile, file)
    _file(checkpoint, f"the checkpoint that the submission saved, such as {profile.files.checkpoint}")
    if out is not None:
        ensure_writable(out)
    with guard(), Progress(Console(stderr=True, emoji=False)) as progress:
        bench = Bench(profile, _kit(profile, kit, kit_sha256), Path(), progress)
        receipt = runs.score_checkpoint(bench, submission, checkpoint, None)
    if out is not None:
        receipt_files.write(receipt, out)
    return _show_lane(receipt, profile)


@app.command()
@command
def compare(
    first: Annotated[
        Path, typer.Argument(help="A train.py, a directory that the builder wrote, or a receipt (.json).")
    ],
    second: Annotated[Path, typer.Argument(help="What to compare it with, of the same kind.")],
    launch: Annotated[str | None, typer.Option("--launch", help="Launch string of both; not for receipts.")] = None,
    control: Annotated[
        Path | None, typer.Option("--control", help="For receipts: that of the second one's sensitivity control.")
    ] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Directory for a report.")] = None,
    contest: Contest = "embedded",
    kit: Kit = None,
    kit_sha256: KitHash = None,
    cold: Cold = False,
) -> int:
    """Run two files in lockstep and name the first difference, or compare two receipts; the first is shown as local.

    Example:

        scorer compare old/train.py new/train.py
        --launch "NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=2 train.py"

        scorer compare old/receipts/artifact.json new/receipts/artifact.json --control new/receipts/control.json
    """
    profile = checked_profile(contest)
    if (first.suffix == ".json") != (second.suffix == ".json"):
        raise InputError(f"{first}, {second}: one is a receipt and the other a submission; name two of the same kind")
    if first.suffix == ".json":
        left, right = receipt_files.read(first), receipt_files.read(second)
        if launch is not None:
            raise InputError("--launch: receipts are not run again; leave it out, or name two train.py files")
        receipts = {Lane.LOCAL: left, Lane.ARTIFACT: right}
        if control is not None:
            receipts[Lane.CONTROL] = receipt_files.read(control)
        text = right.launch.text if right.launch else ""
        submission = Artifact(Path("train.py"), "", text, None, right.subject.sha256, None)
        report = Report(compare_receipts(submission, receipts, [], profile), receipts, submission, profile)
        if out is not None:
            with OutputDirectory(out) as directory:
                _keep(report, directory)
    else:
        if control is not None:
            raise InputError("--control: two files are run with a control of their own; leave it out")
        if launch is None:
            raise InputError("--launch is missing: give the launch string that both files are run with")
        earlier, submission = (read_submission(path, launch, profile) for path in (first, second))
        plan = parse(launch, profile.launch)
        with open_bench(profile, kit, kit_sha256, out) as (bench, directory):
            caches = "cold" if cold else "warm"
            comparison, receipts = runs.pair(bench, (earlier, plan), (submission, plan), caches)
            report = _keep(Report(comparison, receipts, submission, profile), directory)
    standard_output().print(f"local is {first}, artifact is {second}", markup=False, highlight=False, soft_wrap=True)
    return _tell(report, out)


app.command()(check)
app.command()(rules)


@app.command()
@command
def findings(
    code: Annotated[list[str] | None, typer.Argument(help="Codes to explain [default: list all].")] = None,
    contest: Contest = "embedded",
    pages: Annotated[
        Path | None, typer.Option("--pages", help="Write one page of Markdown a code, and an index, to this directory.")
    ] = None,
) -> int:
    """List every code that a finding can have with its weight in a contest, or explain some; or write all as pages.

    Example:

        scorer findings KRN001
    """
    codes = every_code()
    if pages is None:
        explain(codes, code, checked_profile(contest), "scorer findings")
        return PASS
    if code:
        raise InputError("--pages: writes the pages of all codes; name none")
    written = listing.pages(codes)
    if pages.is_dir():
        for stale in sorted(path for path in pages.iterdir() if _is_page(path.name) and path.name not in written):
            stale.unlink()
    for name, text in written.items():
        write_atomic(pages / name, text)
    return PASS


def _is_page(name: str) -> bool:
    return re.fullmatch(r"[A-Z]{3}[0-9]{3}\.md", name) is not None


@app.command()
@command
def schema(
    document: Annotated[Document, typer.Argument(help="Which document.")] = Document.RECEIPT,
) -> int:
    """Print the JSON schema of receipts, verdict.json, kernels.json, profile.json, trial.json or a contest profile.

    Example:

        scorer schema verdict
    """
    models: dict[Document, type[BaseModel]] = {
        Document.RECEIPT: Receipt,
        Document.VERDICT: Verdict,
        Document.KERNELS: KernelReport,
        Document.PROFILE: UpdateProfile,
        Document.TRIAL: ChangeTrial,
        Document.CONTEST: Profile,
    }
    model = models[document]
    print(json.dumps(model.model_json_schema(), indent=1, sort_keys=True))
    return PASS


@contest_app.command("list")
@command
def contest_list() -> int:
    """List the contest profiles that ship with this project.

    Example:

        scorer contest list
    """
    for name in names():
        profile = load(name)
        print(f"{name}  version {profile.version}  {profile.title}")
    return PASS


@contest_app.command("show")
@command
def contest_show(name: Annotated[str, typer.Argument(help="A profile's name, or a path to a YAML file.")]) -> int:
    """Print a contest profile: each field, its value, and whether it is stated, seen, inferred or our own setting.

    Example:

        scorer contest show trainium-frontier-phase1
    """
    print_profile(checked_profile(name), standard_output())
    return PASS


@lane_app.command("local")
@command
def lane_local(
    local: LocalLaunch,
    out: OutDir,
    local_root: LocalRoot = Path(),
    local_env: LocalEnvironment = None,
    contest: Contest = "embedded",
    kit: Kit = None,
    kit_sha256: KitHash = None,
    cold: Cold = False,
) -> int:
    """Run the recipe as its author does; leaves receipt.json, log.txt, out/final.pt.

    Example:

        scorer lane local -o build/local --local "torchrun --standalone --nproc_per_node=1 -m recipe --config small"
    """
    profile = checked_profile(contest)
    plan, root, environment = parse_local(local), existing_directory(local_root), assignments(local_env or [])
    with open_bench(profile, kit, kit_sha256, out) as (bench, directory):
        spec = runs.local_lane(bench, root, plan, environment, "cold" if cold else "warm")
        receipt = _run_alone(bench, spec, directory)
    return _show_lane(receipt, profile, out / "receipt.json")


@lane_app.command("artifact")
@command
def lane_artifact(
    artifact: ArtifactDir,
    out: OutDir,
    contest: Contest = "embedded",
    kit: Kit = None,
    kit_sha256: KitHash = None,
    cold: Cold = False,
) -> int:
    """Run the built bytes by their launch string in a clean room; leaves receipt.json, log.txt, out/final.pt.

    Example:

        scorer lane artifact --artifact build/embedded/artifact -o build/embedded/lane
    """
    profile = checked_profile(contest)
    submission = Artifact.load(artifact).with_others(profile)
    plan = parse(submission.launch_command, profile.launch)
    with open_bench(profile, kit, kit_sha256, out) as (bench, directory):
        spec = runs.artifact_lane(bench, submission, plan, "cold" if cold else "warm")
        receipt = _run_alone(bench, spec, directory)
    return _show_lane(receipt, profile, out / "receipt.json")


@lane_app.command("trusted")
@command
def lane_trusted(
    artifact: ArtifactDir,
    checkpoint: Annotated[Path, typer.Option("--checkpoint", help="The checkpoint that the artifact lane left.")],
    out: OutDir,
    local_receipt: Annotated[
        Path | None, typer.Option("--local-receipt", help="Receipt of a local lane, to score at its own settings too.")
    ] = None,
    contest: Contest = "embedded",
    kit: Kit = None,
    kit_sha256: KitHash = None,
) -> int:
    """Score a checkpoint through the artifact's `load_for_eval`; leaves receipt.json.

    Example:

        scorer lane trusted --artifact build/embedded/artifact --checkpoint out/final.pt -o build/embedded/trusted
    """
    profile = checked_profile(contest)
    submission = Artifact.load(artifact).with_others(profile)
    _file(checkpoint, "the checkpoint that the artifact lane left")
    local = receipt_files.read(local_receipt) if local_receipt else None
    with open_bench(profile, kit, kit_sha256, out) as (bench, directory):
        receipt = runs.score_checkpoint(bench, submission, checkpoint, local)
        receipt_files.write(receipt, directory.staging / "receipt.json")
        directory.commit()
    return _show_lane(receipt, profile, out / "receipt.json")


@contextlib.contextmanager
def open_bench(
    profile: Profile, kit: Path | None, kit_sha256: str | None, out: Path | None
) -> Iterator[tuple[Bench, OutputDirectory]]:
    """The kit, a directory to collect results in, and progress; a signal ends every lane and leaves nothing behind."""
    console = Console(stderr=True, emoji=False)
    with guard(), contextlib.ExitStack() as stack:
        if out is None:  # results are thrown away
            out = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="submission-parity-"))) / "out"
        directory = OutputDirectory(out)
        paths = _kit(profile, kit, kit_sha256)
        stack.enter_context(directory)
        progress = stack.enter_context(Progress(console))
        yield Bench(profile, paths, directory.staging / "lanes", progress), directory


def _kit(profile: Profile, kit: Path | None, kit_sha256: str | None) -> KitPaths:
    """The kit, after its hash was checked: nothing of another kit is ever executed."""
    if kit_sha256 is not None and kit is None:
        raise InputError("--kit-sha256: names the hash of a kit, and no kit is named; give --kit DIR too")
    return ensure_kit(profile, kit, kit_sha256)


def assignments(words: list[str]) -> dict[str, str]:
    """NAME=VALUE options as variables."""
    variables: dict[str, str] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name.isidentifier() or name in variables:
            raise InputError(f"--local-env {word}: expected NAME=VALUE, each name once; correct it")
        variables[name] = value
    return variables


def existing_directory(path: Path) -> Path:
    """The directory that --local-root names, absolute."""
    if not path.is_dir():
        raise InputError(f"{path}: no such directory; --local-root names where the recipe is imported from")
    return path.resolve()


def _file(path: Path, what: str) -> None:
    if not path.is_file():
        raise InputError(f"{path}: no such file; expected {what}")


def strict(profile: Profile) -> Profile:
    """The profile with every code that would only advise made to decide; those switched off stay off."""
    stated = {code: "hard" if weight == "advice" else weight for code, weight in profile.rules.items()}
    advice = {code: "hard" for code, entry in every_code().items() if entry.severity is Severity.ADVICE}
    return Profile.model_validate({**profile.model_dump(), "rules": advice | stated})


def _run_alone(bench: Bench, spec: LaneSpec, directory: OutputDirectory) -> Receipt:
    receipt = runs.run_one(bench, spec, directory.staging)
    bench.kit.check_unchanged()
    receipt_files.write(receipt, directory.staging / "receipt.json")
    directory.commit()
    return receipt


def _show_lane(receipt: Receipt, profile: Profile, path: Path | None = None) -> int:
    """Print what one lane found, and where its receipt is; the exit code that the profile makes of it."""
    console = standard_output()
    findings = weighed([Finding.model_validate(found) for found in receipt.observed_findings], profile)
    print_evaluations(receipt, console)
    print_purity(receipt, console)
    print_findings(findings, console)
    if receipt.problem:
        console.print(receipt.problem, markup=False, highlight=False, style="red")
    if path is not None:
        console.print(f"{path}", markup=False, highlight=False, soft_wrap=True)
    hard = any(found.severity is Severity.HARD and not undecided(found) for found in findings)
    if hard or receipt.outcome is not Outcome.COMPLETE:
        return FAIL
    return INCONCLUSIVE if any(map(undecided, findings)) else PASS


def _keep(report: Report, directory: OutputDirectory) -> Report:
    """Put the report beside what the lanes left, and all of it in place."""
    report.write(directory.staging)
    directory.commit()
    return report


def _tell(report: Report, out: Path | None) -> int:
    """Show the report in the terminal and where GitHub asks for it, say where it is, and give its exit code."""
    console = standard_output()
    report.show(console)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(report.summary())
    if out is not None:
        console.print(f"Report: {out / 'report.html'}", markup=False, highlight=False, soft_wrap=True)
    return VERDICTS[report.comparison.verdict]
