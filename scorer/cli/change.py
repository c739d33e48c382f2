"""The command that tries a change: a short gate, full runs of both programs, the trusted score, a decision."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from scorer.artifact import Artifact
from scorer.cli import commands, flame, runs, trials
from scorer.cli.console import tell
from scorer.cli.errors import VERDICTS, InputError, command
from scorer.cli.output import OutputDirectory
from scorer.cli.reviewing import Contest, checked_profile
from scorer.cli.runs import Bench
from scorer.compare.trials import change
from scorer.compare.trials.change import Arm, ChangeTrial, Gate, PairResult
from scorer.compare.trials.matching import ChangeError, Difference, Matched, difference, match
from scorer.contest import Profile
from scorer.files import write_atomic
from scorer.report.change import OUTCOMES, change_page, print_change
from scorer.room import receipts as receipt_files
from scorer.room.lane import LaneSpec
from scorer.room.launch import parse
from scorer.room.race import race
from scorer.room.receipts import Clock, Lane, Receipt

app = flame.app
Program = Annotated[
    Path, typer.Argument(help="A directory that `builder produce` wrote, or one that holds several, one for each seed.")
]


@app.command()
@command
def trial(
    old: Program,
    new: Program,
    out: trials.Out = None,
    several: Annotated[bool, typer.Option("--several", help="Let the programs differ in more than one thing.")] = False,
    past_gate: Annotated[bool, typer.Option("--past-gate", help="Run in full whatever the gate says.")] = False,
    contest: Contest = "embedded",
    kit: commands.Kit = None,
    kit_sha256: commands.KitHash = None,
) -> int:
    """Try a change: run the old and the new program in full, and say whether to adopt it.

    The programs may differ in one knob (or in their sources) and, pair by pair, in the seed. A short race in turns
    goes first and ends the trial where it is hopeless. Then all full runs by the real clock, the trusted score of each,
    and one more of the first old program as a control. Learning per step and time per step are told together; the
    decision follows the profile's thresholds (`trial`): adopt (exit code 0), reject (1), else 3.

    Example:

        scorer trial build/embedded/trial/old build/embedded/trial/new -o build/embedded/trial/report
    """
    profile = checked_profile(contest)
    try:
        pairs = match(builds(old, profile), builds(new, profile))
        changed = difference(pairs, several)
    except ChangeError as error:
        raise InputError(str(error)) from error
    with commands.open_bench(profile, kit, kit_sha256, out) as (bench, directory):
        report = run_trial(Runner(bench, directory), pairs, changed, profile, past_gate)
        bench.kit.check_unchanged()
        write_atomic(directory.staging / trials.DOCUMENT, report.json_text())
        write_atomic(directory.staging / trials.PAGE, change_page(report))
        if out is not None:
            directory.commit()
    tell(lambda console: print_change(report, console), out and out / trials.PAGE)
    return VERDICTS[OUTCOMES[report.decision]]


def builds(path: Path, profile: Profile) -> list[Artifact]:
    """The builds of one program: of one seed, or of each seed that a directory holds."""
    found = [path] if path.is_file() or (path / "train.py").is_file() else sorted(path.glob("*/train.py"))
    if not found:
        raise InputError(f"{path}: no train.py in it or in a directory below it; build the program first")
    return [trials.submitted(one if one == path else one.parent, "", profile, None)[0] for one in found]


class Runner:
    """Runs lanes for a trial, each kept under its own number with its receipt."""

    def __init__(self, bench: Bench, directory: OutputDirectory) -> None:
        self.bench, self.directory, self._number = bench, directory, 0

    def spec(self, artifact: Artifact) -> LaneSpec:
        """A full run by the real clock."""
        plan = parse(artifact.launch_command, self.bench.profile.launch)
        return replace(runs.artifact_lane(self.bench, artifact, plan, "warm"), clock=Clock(kind="real"))

    def gate(self, pair: Matched) -> Gate:
        """The short race of the first pair."""
        profile = self.bench.profile
        specs = replace(self.spec(pair.old), lane=Lane.LOCAL), self.spec(pair.new)
        numbers = {Lane.LOCAL: self._next(), Lane.ARTIFACT: self._next()}

        def run(spec: LaneSpec) -> Receipt:
            which = "old" if spec.lane is Lane.LOCAL else "new"
            return self._run(numbers[spec.lane], f"gate, {which}", spec)

        return change.judge_gate(race(run, specs, change.gate_course(profile), second_goes_first=False), profile)

    def pair(self, number: int, pair: Matched) -> tuple[Arm | str, Arm | str]:
        """Both programs in full; in every odd pair the new one goes first."""
        numbers = self._next(), self._next()
        programs = pair.old, pair.new
        names = [f"{pair.seed or 'full run'}, {which}" for which in ("old", "new")]
        begun: dict[int, Future[Receipt]] = {}
        with ThreadPoolExecutor(2 if self.bench.profile.trial.side_by_side else 1, thread_name_prefix="trial") as pool:
            for side in (1, 0) if number % 2 else (0, 1):
                begun[side] = pool.submit(self._run, numbers[side], names[side], self.spec(programs[side]))
        old, new = (self._arm(numbers[side], pair.seed, programs[side], begun[side].result()) for side in (0, 1))
        return old, new

    def alone(self, name: str, seed: str, artifact: Artifact) -> Arm | str:
        """One program in full."""
        number = self._next()
        return self._arm(number, seed, artifact, self._run(number, name, self.spec(artifact)))

    def _next(self) -> int:
        self._number += 1
        return self._number - 1

    def _run(self, number: int, name: str, spec: LaneSpec) -> Receipt:
        return trials.run_numbered(self.bench, number, name, spec, self.directory)

    def _arm(self, number: int, seed: str, artifact: Artifact, receipt: Receipt) -> Arm | str:
        scored = None
        if receipt.checkpoint is not None:
            path = self.bench.keep / f"{number:02d}" / receipt.checkpoint.path
            scored = runs.score_checkpoint(self.bench, artifact, path, None)
            receipt_files.write(scored, self.directory.staging / "receipts" / f"{number:02d}-trusted.json")
        return change.arm(seed, receipt, scored, self.bench.profile)


def run_trial(
    runner: Runner, pairs: list[Matched], changed: Difference, profile: Profile, past_gate: bool
) -> ChangeTrial:
    """The gate, the full runs and the control, as far as they lead."""
    launch = pairs[0].new.launch_command
    gate = runner.gate(pairs[0])
    results: list[PairResult] = []
    if gate.stopped and not past_gate:
        return change.conclude(pairs, launch, profile, changed, gate, results, None)
    for number, pair in enumerate(pairs):
        old, new = runner.pair(number, pair)
        for which, found in (("old", old), ("new", new)):
            if isinstance(found, str):
                told = f"the {which} program, {pair.seed or 'its full run'}: {found}"
                return change.conclude(pairs, launch, profile, changed, gate, results, None, told)
        assert not isinstance(old, str)
        assert not isinstance(new, str)
        results.append(change.compare(old, new, profile))
    control = runner.alone("control: the old one again", pairs[0].seed, pairs[0].old)
    if isinstance(control, str):
        told = f"the old program, run again as the control: {control}"
        return change.conclude(pairs, launch, profile, changed, gate, results, None, told)
    return change.conclude(pairs, launch, profile, changed, gate, results, control)
