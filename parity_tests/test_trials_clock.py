"""The clock trial: who stops in time is told from who does not, by the contest's own rules."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

import pytest

from parity_tests.room_programs import line_of, plan, profile, small_kit
from scorer.artifact import Artifact
from scorer.compare.trials.clock import clock_of, run_trial
from scorer.compare.trials.result import Trial
from scorer.contest import ClockScript, Profile
from scorer.room.lane import LaneSpec, run_lane
from scorer.room.receipts import Clock, Lane, Receipt

PROGRAM = '''"""Trains by the clock."""
import os
import time

STARTED = time.monotonic()
import prepare
import torch
import torch.distributed as dist

BUDGET, FREE, EXCLUDED = 60.0, 30.0, 5
RESERVE = 5.0
MARGIN = 10.0


def evaluate(model):
    return prepare.evaluate_bpb(model)


def save(model, step):
    os.makedirs("out", exist_ok=True)
    torch.save({"model_state": model.state_dict(), "model_config": {}, "meta": {"step": step}}, "out/final.pt")


def main():
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if world > 1:
        dist.init_process_group("gloo")
    torch.manual_seed(7)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batches = prepare.make_dataloader(4, seed=rank)
    start_up_end, last, seconds, step = None, STARTED, 0.0, 0
    while True:
        now = time.monotonic()
        begun = now if start_up_end is None else start_up_end
        charged = max(0.0, begun - STARTED + MARGIN - FREE) + now - begun
        progress = charged / (BUDGET - RESERVE)
        stop = BUDGET - charged < (seconds if start_up_end else 0.0) + RESERVE
        if world > 1:
            told = torch.tensor([progress, float(stop)], dtype=torch.float64)
            dist.broadcast(told, src=0)
            progress, stop = told.tolist()
        if stop:
            break
        optimizer.param_groups[0]["lr"] = 0.01 * (1.0 - progress)
        x, y, _ = next(batches)
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
        if world > 1:
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
        optimizer.step()
        optimizer.zero_grad()
        prepare.record_step_boundary(step)
        step += 1
        now = time.monotonic()
        seconds, last = now - last, now
        if step == EXCLUDED:
            start_up_end = now
    AFTER(model)
    if rank == 0:
        save(model, step)
    if world > 1:
        dist.barrier()
        dist.destroy_process_group()


def AFTER(model):
    pass


if __name__ == "__main__":
    main()
'''


@functools.cache
def contest(*names: str) -> Profile:
    """The embedded contest with these of its scripts alone."""
    whole = profile()
    scripts = [script for script in whole.clock_trial.scripts if script.name in names]
    assert len(scripts) == len(names)
    return whole.model_copy(update={"clock_trial": whole.clock_trial.model_copy(update={"scripts": scripts})})


def trial(directory: Path, source: str, *names: str, nproc: int = 1) -> Trial:
    chosen = contest("as planned", *names)
    directory.mkdir(exist_ok=True)
    (directory / "train.py").write_text(source)
    artifact = Artifact.from_file(directory / "train.py", plan(nproc).text)
    kit = small_kit(directory / "kit")
    with (kit.directory / "prepare.py").open("a") as file:
        file.write("\ndef evaluate_bpb(model):\n    return 1.0\n")
    clock = Clock(kind="virtual", seconds_per_update=0.5)
    environment = {"OMP_NUM_THREADS": "1"}
    spec = LaneSpec(lane=Lane.ARTIFACT, plan=plan(nproc), source=artifact, clock=clock, environment=environment)

    def run(specs: Sequence[tuple[str, LaneSpec]]) -> list[Receipt]:
        return [run_lane(spec, chosen, kit, directory / f"keep{n}") for n, (_, spec) in enumerate(specs)]

    return run_trial(artifact, chosen, spec, run)


def changed(old: str, new: str) -> str:
    assert PROGRAM.count(old) == 1, old
    return PROGRAM.replace(old, new)


def told(seen: Trial) -> list[tuple[str, int | None, str]]:
    return [(found.code, found.artifact_line, str(found.evidence.get("script"))) for found in seen.findings]


def column(seen: Trial, name: str) -> list[str]:
    return [row[seen.columns.index(name)] for row in seen.rows]


def test_a_clean_program_passes_and_its_margin_is_the_contests(tmp_path: Path) -> None:
    seen = trial(tmp_path, PROGRAM, "longer start-up", "start-up over the allowance", "slow save", "slow evaluation")
    assert (seen.verdict, seen.findings) == ("pass", [])
    # 60 s of budget, updates of 2 s; it stops with 5 s to spare, less a save of 0.25 s (or 2 s) and an exit of 0.5 s.
    assert column(seen, "margin") == ["5.25", "5.25", "14.25", "3.50", "5.25"]
    assert column(seen, "start-up") == ["12.0", "24.0", "31.0", "12.0", "12.0"]
    assert column(seen, "updates") == ["32", "32", "27", "32", "32"]
    assert set(column(seen, "saved")) == {"yes"}


def test_ranks_that_agree_may_start_apart(tmp_path: Path) -> None:
    seen = trial(tmp_path, PROGRAM, "ranks that start apart", nproc=2)
    assert (seen.verdict, seen.findings) == ("pass", [])


def test_ranks_that_each_ask_their_own_clock_are_told(tmp_path: Path) -> None:
    source = changed("dist.broadcast(told, src=0)", "pass")
    seen = trial(tmp_path, source, "ranks that start apart", nproc=2)
    assert [found.code for found in seen.findings] == ["RUN031"]
    assert seen.findings[0].artifact_line is not None


def test_a_fixed_number_of_steps_overruns_on_a_slow_host_alone(tmp_path: Path) -> None:
    source = changed("stop = BUDGET - charged < (seconds if start_up_end else 0.0) + RESERVE", "stop = step >= 33")
    seen = trial(tmp_path, source, "host slower by 1 %", "host slower by 12 %")
    line = line_of(source, "while True") + 1
    assert told(seen) == [("RUN014", line, "host slower by 12 %")]
    assert column(seen, "updates") == ["33", "33", "33"]


def test_a_program_that_never_stops_is_ended_and_told(tmp_path: Path) -> None:
    source = changed("stop = BUDGET - charged < (seconds if start_up_end else 0.0) + RESERVE", "stop = False")
    seen = trial(tmp_path, source)
    assert [(found.code, "still training" in found.message) for found in seen.findings] == [("RUN014", True)]
    assert column(seen, "saved") == ["no"]


@pytest.mark.parametrize(
    ("old", "new", "script", "code"),
    [
        ("RESERVE = 5.0", "RESERVE = 0.5", "slow save", "RUN014"),
        ("RESERVE = 5.0", "RESERVE = 2.0", "slow save", "RUN015"),
        ("+ MARGIN - FREE", "- 1000", "start-up over the allowance", "RUN014"),
        ("def AFTER(model):\n    pass", "def AFTER(model):\n    evaluate(model)", "slow evaluation", "RUN014"),
        ("        save(model, step)", "        pass", "longer start-up", "RUN007"),
    ],
    ids=["save beyond the reserve", "save into the reserve", "start-up not charged", "evaluation", "nothing saved"],
)
def test_what_costs_the_run_is_told_by_its_script(tmp_path: Path, old: str, new: str, script: str, code: str) -> None:
    source = changed(old, new)
    if code == "RUN014" and script == "start-up over the allowance":
        source = source.replace("RESERVE = 5.0", "RESERVE = 0.8")
    seen = trial(tmp_path, source, script)
    assert code in {found.code for found in seen.findings}, seen.rows
    (row,) = (row for row in seen.rows if row[0] == script)
    assert code in row[-1]


def test_a_schedule_by_time_since_launch_is_named_with_its_line(tmp_path: Path) -> None:
    source = changed(
        "        progress = charged / (BUDGET - RESERVE)\n",
        "        progress = (time.monotonic() - STARTED) / (BUDGET + FREE)\n",
    )
    seen = trial(tmp_path, source, "longer start-up")
    assert (seen.verdict, told(seen)) == ("pass", [("RUN032", line_of(source, "progress = (time"), "longer start-up")])
    assert seen.findings[0].update == 2  # the learning rate of update 1 is the first that start-up can reach


def test_a_script_becomes_a_clock(tmp_path: Path) -> None:
    chosen = profile()
    each = chosen.budget.train_seconds / chosen.clock_trial.updates
    script = ClockScript(name="all", start_up_seconds=15.0, slower=0.5, compile_seconds=8.0, save_seconds=2.0)
    clock = clock_of(script, chosen)
    line = clock.timeline
    assert line is not None
    assert clock.seconds_per_update == 1.5 * each
    lengths = dict(line.lengths)
    assert line.before_seconds + sum(lengths[update] for update in range(5)) == pytest.approx(1.5 * 15.0)
    assert lengths[5 + 10] == 1.5 * (each + 8.0)
    assert line.save_seconds == 3.0
    measured = clock_of(script, chosen, seconds_per_update=0.7)
    assert measured.seconds_per_update == pytest.approx(0.7 * 1.5)
