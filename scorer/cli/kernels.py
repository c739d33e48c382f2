"""The command that tells what a submission's kernels take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from scorer.cli import commands, runs, trials
from scorer.cli.console import tell
from scorer.cli.errors import VERDICTS, command
from scorer.cli.reviewing import Contest, Files, checked_profile
from scorer.compare.accounts import conclude
from scorer.files import write_atomic
from scorer.report.kernels import kernels_page, print_kernels
from scorer.room import accounts
from scorer.room import receipts as receipt_files
from scorer.room.launch import parse

app = trials.app
DOCUMENT, PAGE = "kernels.json", "kernels.html"


@app.command()
@command
def kernels(
    train_py: trials.Submission,
    launch: trials.LaunchOption = "",
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Directory for kernels.html, kernels.json, receipt.json and lanes/."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print kernels.json in place of the table.")] = False,
    file: Files = None,
    contest: Contest = "embedded",
    kit: commands.Kit = None,
    kit_sha256: commands.KitHash = None,
) -> int:
    """Run one update and tell what each kernel launch takes: SBUF, PSUM, DMA, cycles by engine, an estimated time.

    The program runs in the clean room on the stand-in. Times and cycles are ESTIMATES by documented rates of Trn2: at
    best, with all engines side by side. The page (-o) draws SBUF and PSUM over each kernel's life.

    Example:

        scorer kernels build/embedded/artifact -o build/embedded/kernels
    """
    profile = checked_profile(contest)
    submission, text = trials.submitted(train_py, launch, profile, file)
    plan = parse(text, profile.launch)
    with commands.open_bench(profile, kit, kit_sha256, out) as (bench, directory):
        lane = runs.artifact_lane(bench, submission, plan, "warm")
        spec, keep = replace(lane, compared=False, stop_after_window=True, account=True), bench.keep / lane.lane.value
        receipt = runs.run_one(bench, spec, keep)
        bench.kit.check_unchanged()
        report = conclude(submission, text, profile, receipt, accounts.read(keep))
        receipt_files.write(receipt, directory.staging / "receipt.json")
        write_atomic(directory.staging / DOCUMENT, report.json_text())
        write_atomic(directory.staging / PAGE, kernels_page(report))
        if out is not None:
            directory.commit()
    if as_json:
        print(report.json_text(), end="")
        return VERDICTS[report.verdict]
    tell(lambda console: print_kernels(report, console), out and out / PAGE)
    return VERDICTS[report.verdict]
