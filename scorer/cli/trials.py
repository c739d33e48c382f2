"""The trials' commands: one artifact run several times under other circumstances."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from scorer.artifact import Artifact
from scorer.cli import commands, runs
from scorer.cli.console import tell
from scorer.cli.errors import VERDICTS, InputError, command
from scorer.cli.output import OutputDirectory
from scorer.cli.reviewing import Contest, Files, checked_profile, read_submission
from scorer.cli.runs import Bench
from scorer.compare.trials import clock, environment, speed, world
from scorer.compare.trials.result import Trial
from scorer.contest import Profile
from scorer.files import write_atomic
from scorer.report.html import trial_page
from scorer.report.terminal import print_findings
from scorer.room import receipts as receipt_files
from scorer.room.lane import LaneSpec, run_lane
from scorer.room.launch import parse, parse_local
from scorer.room.race import Course, Race, race
from scorer.room.receipts import Clock, Lane, Outcome, Receipt

app = commands.app
DOCUMENT, PAGE = "trial.json", "trial.html"
SLOWER = 3.0  # a run that takes so many times as long as the plan's hangs
LEAST_SECONDS = 30.0

Submission = Annotated[
    Path, typer.Argument(help="A directory that `builder produce` wrote, or any train.py (with --launch).")
]
LaunchOption = Annotated[
    str, typer.Option("--launch", help="The launch string [default: the artifact's own launch-command.txt].")
]
Out = Annotated[
    Path | None,
    typer.Option(
        "-o", "--out", help="Directory for trial.html, trial.json, receipts/ and lanes/; whole or not at all."
    ),
]


@app.command("environment-trial")
@command
def environment_trial(
    artifact: Submission,
    launch: LaunchOption = "",
    out: Out = None,
    file: Files = None,
    contest: Contest = "embedded",
    kit: commands.Kit = None,
    kit_sha256: commands.KitHash = None,
) -> int:
    """Run the artifact under hostile environment variables and without any: the runs must be the same, bit for bit.

    Tried are the variables that the program reads (in the run, or as the static review sees it), those that the
    contest knows to matter, and those of torch, OpenMP and CUDA. Where a run differs, the variable is found by halving
    and named with the line that reads it.

    Example:

        scorer environment-trial build/embedded/artifact -o build/embedded/environment
    """
    profile = checked_profile(contest)
    submission, text = submitted(artifact, launch, profile, file)
    with commands.open_bench(profile, kit, kit_sha256, out) as (bench, directory):
        spec = runs.artifact_lane(bench, submission, parse(text, profile.launch), "cold")

        def run(name: str, spec: LaneSpec) -> Receipt:
            return run_numbered(bench, len(list(bench.keep.glob("*"))), name, spec, directory)

        return _finish(environment.run_trial(submission, profile, spec, run), profile, bench, directory, out)


@app.command("clock-trial")
@command
def clock_trial(
    artifact: Submission,
    launch: LaunchOption = "",
    out: Out = None,
    seconds_per_update: Annotated[
        float | None,
        typer.Option(
            "--seconds-per-update", help="A measured one [default: the budget over clock_trial.updates].", min=0
        ),
    ] = None,
    file: Files = None,
    contest: Contest = "embedded",
    kit: commands.Kit = None,
    kit_sha256: commands.KitHash = None,
) -> int:
    """Replay the contest's budget on virtual clocks: long start-ups, slow hosts, a compile, a slow save, a stall.

    Says for each script of the profile (`clock_trial.scripts`) whether the program stops in time, whether it saves and
    what is left of the budget by the contest's own rules; and whether its schedule counts start-up time.

    Example:

        scorer clock-trial build/embedded/artifact -o build/embedded/clock
    """
    profile = checked_profile(contest)
    submission, text = submitted(artifact, launch, profile, file)
    with commands.open_bench(profile, kit, kit_sha256, out) as (bench, directory):
        spec = runs.artifact_lane(bench, submission, parse(text, profile.launch), "cold")

        def run(specs: Sequence[tuple[str, LaneSpec]]) -> list[Receipt]:
            return _run_all(bench, specs, directory)

        trial = clock.run_trial(submission, profile, spec, run, seconds_per_update)
        return _finish(trial, profile, bench, directory, out)


@app.command("speed-trial")
@command
def speed_trial(
    artifact: Submission,
    local: commands.LocalLaunch,
    local_root: commands.LocalRoot = Path(),
    local_env: commands.LocalEnvironment = None,
    launch: LaunchOption = "",
    out: Out = None,
    file: Files = None,
    contest: Contest = "embedded",
    kit: commands.Kit = None,
    kit_sha256: commands.KitHash = None,
) -> int:
    """Race recipe and artifact: is the artifact's update slower by more than the contest profile's limit, and by what?

    Both programs run at the same time and make their updates in turns, or one after the other where the device bears
    one program only (`speed_trial.together`). Rounds are run until the interval of the paired ratio excludes a slowdown
    by the limit or shows one.

    Example:

        scorer speed-trial build/embedded/artifact -o build/embedded/speed
        --local "NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=2 -m recipe --config embedded"
    """
    profile = checked_profile(contest)
    submission, text = submitted(artifact, launch, profile, file)
    local_plan, root = parse_local(local), commands.existing_directory(local_root)
    environment = commands.assignments(local_env or [])
    with commands.open_bench(profile, kit, kit_sha256, out) as (bench, directory):
        specs = (
            replace(runs.local_lane(bench, root, local_plan, environment, "warm"), clock=Clock(kind="real")),
            replace(
                runs.artifact_lane(bench, submission, parse(text, profile.launch), "warm"), clock=Clock(kind="real")
            ),
        )

        def run(number: int, course: Course) -> Race:
            def lane(spec: LaneSpec) -> Receipt:
                position = 2 * number + (spec.lane is Lane.ARTIFACT)
                return run_numbered(bench, position, f"round {number + 1}, {spec.lane.value}", spec, directory)

            return race(lane, specs, course, second_goes_first=number % 2 == 1)

        return _finish(speed.run_trial(submission, profile, text, run), profile, bench, directory, out)


@app.command("world-trial")
@command
def world_trial(
    artifacts: Annotated[
        list[Path],
        typer.Argument(
            help="Directories that `builder produce` wrote, one for each number of ranks, same global batch."
        ),
    ],
    out: Out = None,
    contest: Contest = "embedded",
    kit: commands.Kit = None,
    kit_sha256: commands.KitHash = None,
) -> int:
    """Compare one program at several numbers of ranks: the same rows must give the same updates, but for rounding.

    The files are the program's builds for each number of ranks, with as many micro-batches more as there are ranks
    less. All are dealt the rows that the ranks of the largest one read. What rounding can do is derived from the
    dtypes and the number of gradients that are added up, and is told beside what was found.

    Example:

        scorer world-trial build/small/world/1 build/small/world/2 build/small/world/4 -o build/small/world-trial
    """
    profile = checked_profile(contest)
    given = []
    for path in artifacts:
        submission, text = submitted(path, "", profile, None)
        given.append((parse(text, profile.launch), submission))
    given.sort(key=lambda each: each[0].nproc_per_node)
    counts = [plan.nproc_per_node for plan, _ in given]
    most = counts[-1]
    if len({*counts}) < 2 or len({*counts}) < len(counts) or any(most % count for count in counts):
        raise InputError(
            f"expected builds for two or more numbers of ranks, each a divisor of the largest; "
            f"found {', '.join(map(str, counts))}"
        )
    plans = {submission.sha256: plan for plan, submission in given}
    with commands.open_bench(profile, kit, kit_sha256, out) as (bench, directory):

        def run(name: str, submission: Artifact, deal_as: int, perturbed: bool) -> tuple[Receipt, Path]:
            spec = replace(
                runs.artifact_lane(bench, submission, plans[submission.sha256], "warm"),
                imposed={"OMP_NUM_THREADS": "1"},  # as torchrun has it for several ranks: a product is cut as often
                perturb=perturbed,
                stop_after_window=True,
                deal_as=deal_as,
                keep_values=True,
            )
            number = len(list(bench.keep.glob("*")))
            return run_numbered(bench, number, name, spec, directory), bench.keep / f"{number:02d}"

        pairs = [(plan.nproc_per_node, submission) for plan, submission in given]
        trial = world.run_trial(pairs, profile, given[-1][0].text, run)
        return _finish(trial, profile, bench, directory, out)


def submitted(path: Path, launch: str, profile: Profile, file: list[Path] | None) -> tuple[Artifact, str]:
    """The submission, and the string that it is launched with. Raises InputError where no string is known."""
    submission = read_submission(path, launch, profile, file)
    text = launch or submission.launch_command
    if not text:
        raise InputError("--launch is missing: a bare train.py has no launch-command.txt; give the launch string")
    return submission, text


def _run_all(bench: Bench, specs: Sequence[tuple[str, LaneSpec]], directory: OutputDirectory) -> list[Receipt]:
    """The first run alone, by which the others' time limit is set; these as many at once as there are cores for."""
    (first_name, first), *rest = specs
    receipt = run_numbered(bench, 0, first_name, first, directory)
    at_once = max(1, (os.cpu_count() or 1) // first.plan.nproc_per_node)
    taken = receipt.time.total if receipt.time is not None else math.inf
    limit = min(bench.profile.budget.run_timeout_seconds, LEAST_SECONDS + SLOWER * at_once * taken)
    budget = bench.profile.budget.model_copy(update={"run_timeout_seconds": limit})
    limited = replace(bench, profile=bench.profile.model_copy(update={"budget": budget}))

    def run(number: int, name: str, spec: LaneSpec) -> Receipt:
        return run_numbered(limited, number, name, spec, directory)

    names, remaining = [name for name, _ in rest], [spec for _, spec in rest]
    with ThreadPoolExecutor(at_once, thread_name_prefix="script") as pool:
        return [receipt, *pool.map(run, range(1, len(specs)), names, remaining)]


def run_numbered(bench: Bench, number: int, name: str, spec: LaneSpec, directory: OutputDirectory) -> Receipt:
    """One run; its receipt, log and checkpoint are kept under its number."""
    place = f"{number:02d}"
    keep = bench.keep / place
    keep.mkdir(parents=True)
    receipt = run_lane(spec, bench.profile, bench.kit, keep, bench.progress.start(name))
    updates = len(receipt.ranks[0].updates) if receipt.ranks else 0
    bench.progress.end(name, f"{receipt.outcome.value}, {updates} updates", receipt.outcome is Outcome.COMPLETE)
    receipt_files.write(receipt, directory.staging / "receipts" / f"{place}.json")
    return receipt


def _finish(trial: Trial, profile: Profile, bench: Bench, directory: OutputDirectory, out: Path | None) -> int:
    """Write, print, and give the exit code."""
    bench.kit.check_unchanged()
    write_atomic(directory.staging / DOCUMENT, trial.json_text())
    write_atomic(directory.staging / PAGE, trial_page(trial))
    if out is not None:
        directory.commit()
    tell(lambda console: print_trial(trial, profile, console), out and out / PAGE)
    return VERDICTS[trial.verdict]


def print_trial(trial: Trial, profile: Profile, console: Console) -> None:
    """Print a trial: its verdict, a row for each run, and its findings."""
    style = {"pass": "green", "fail": "red", "inconclusive": "yellow"}[trial.verdict]
    sign = {"pass": "✓ PASS", "fail": "✗ FAIL", "inconclusive": "? INCONCLUSIVE"}[trial.verdict]
    banner = Text.assemble((sign, f"bold {style}"), "  ", trial.reason)
    title = f"{trial.trial} trial, {profile.name} v{profile.version}"
    console.print(Panel(banner, border_style=style, box=box.ROUNDED, title=title, title_align="left"))
    for name, told in trial.facts.items():
        console.print(Text(f"{name}: {told}", style="dim"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(trial.columns):
        table.add_column(column, justify="left" if number == 0 else "right" if _is_number(trial, number) else "left")
    for row in trial.rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
    print_findings(trial.findings, console)


def _is_number(trial: Trial, column: int) -> bool:
    return any(row[column].replace(".", "").isdecimal() for row in trial.rows)
