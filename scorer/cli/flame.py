"""The command that tells where the time of an update goes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from scorer.cli import commands, kernels, runs, trials
from scorer.cli.console import tell
from scorer.cli.errors import VERDICTS, command
from scorer.cli.reviewing import Contest, Files, checked_profile
from scorer.compare.flame import conclude, profiled_updates
from scorer.files import write_atomic
from scorer.report.flame import flame_page, print_flame
from scorer.room import accounts, flames
from scorer.room import receipts as receipt_files
from scorer.room.launch import parse
from scorer.room.receipts import Clock

app = kernels.app
DOCUMENT, PAGE = "profile.json", "profile.html"


@app.command()
@command
def profile(
    train_py: trials.Submission,
    launch: trials.LaunchOption = "",
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Directory for profile.html, profile.json, receipt.json and lanes/."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print profile.json in place of the table.")] = False,
    file: Files = None,
    contest: Contest = "embedded",
    kit: commands.Kit = None,
    kit_sha256: commands.KitHash = None,
) -> int:
    """Run a few updates and tell where the time of one goes, call by call, with the line that makes each call.

    After a warm-up, plain and profiled updates take turns: how much longer a profiled one takes is told. Forward,
    backward, optimizer, collectives, data, the rest and the recording add up to the update. The page (-o) draws the
    flame; kernels have their estimated time on Trn2 beside the measured one.

    Example:

        scorer profile build/embedded/artifact -o build/embedded/profile
    """
    rules = checked_profile(contest)
    submission, text = trials.submitted(train_py, launch, rules, file)
    plan = parse(text, rules.launch)
    with commands.open_bench(rules, kit, kit_sha256, out) as (bench, directory):
        lane = replace(runs.artifact_lane(bench, submission, plan, "warm"), clock=Clock(kind="real"))
        spec = replace(lane, stop_after_window=True, account=True, profiled=profiled_updates())
        keep = bench.keep / lane.lane.value
        receipt = runs.run_one(bench, spec, keep)
        bench.kit.check_unchanged()
        report = conclude(submission, text, rules, receipt, flames.read(keep), accounts.read(keep))
        receipt_files.write(receipt, directory.staging / "receipt.json")
        write_atomic(directory.staging / DOCUMENT, report.json_text())
        write_atomic(directory.staging / PAGE, flame_page(report))
        if out is not None:
            directory.commit()
    if as_json:
        print(report.json_text(), end="")
        return VERDICTS[report.verdict]
    tell(lambda console: print_flame(report, console), out and out / PAGE)
    return VERDICTS[report.verdict]
