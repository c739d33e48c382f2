"""The race: turns, what is kept, what does not count, the contest's other budget; no run is made here."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from parity_tests import receipts_factory
from parity_tests.speedrun import contest, entries, negative, runs, shown
from parity_tests.speedrun.entries import Entry, EntryError
from parity_tests.speedrun.page import page
from parity_tests.speedrun.race import Race, concluded, loss_at, order, run_all, told
from parity_tests.speedrun.runs import Run
from recipe.config import Config
from scorer.artifact import Artifact
from scorer.contest import Profile, load
from scorer.room.kit import STAND_IN
from scorer.room.kit_source import KitSource
from scorer.room.launch import parse
from scorer.room.receipts import Lane, Outcome, TimeSplit

EMBEDDED = load("embedded")
PROFILE = contest.race_profile(EMBEDDED, 300, "cpu")
LAUNCH = "NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=2 train.py"


def a_run(system: str, seed: int = 1, *, bpb: float | None = 2.0, steps: int = 40, problem: str | None = None) -> Run:
    """A run on a clock that gives every update a tenth of a second."""
    return Run(
        system=system,
        seed=seed,
        key="key",
        problem=problem,
        launch=LAUNCH,
        parameters=1_500_000,
        tokens=steps * 1024,
        steps=steps,
        excluded=5,
        start_up=8.0,
        train=(steps - 5) * 0.1,
        charged=9.0,
        peak_bytes=700 << 20,
        seconds=[0.1] * steps,
        losses=[8.0 - 0.1 * step for step in range(steps)],
        val_bpb=bpb,
    )


def a_race(*found: Run) -> Race:
    systems, equal = concluded(found)
    return Race(
        contest="embedded-race",
        contest_version=1,
        seconds=300.0,
        scored_tokens=65_536,
        split="private_val",
        facts={"machine": "2 cores"},
        equal_steps=equal,
        systems=systems,
    )


@pytest.fixture
def entry(tmp_path: Path) -> Entry:
    file = tmp_path / "train.py"
    file.write_text("pass\n", "utf-8")
    return Entry("deep", 2, Artifact.from_file(file, LAUNCH), parse(LAUNCH, EMBEDDED.launch))


def test_each_round_has_every_system_once_and_another_one_first() -> None:
    assert [*order(["a", "b", "c"], [1, 2])] == [("a", 1), ("b", 1), ("c", 1), ("b", 2), ("c", 2), ("a", 2)]


def test_only_what_is_not_kept_is_run_again(entry: Entry) -> None:
    asked: list[str] = []

    def take(_: Entry, name: str) -> Run:
        asked.append(name)
        return a_run("deep", 3)

    other = Entry("deep", 3, entry.artifact, entry.plan)
    found = run_all([entry, other], lambda one: a_run("deep", 2) if one is entry else None, take)
    assert [run.seed for run in found] == [2, 3]
    assert asked == ["deep/3, run 2 of 2"]


@pytest.mark.parametrize(
    ("change", "is_kept"),
    [
        (lambda run: run, True),
        (lambda run: run.model_copy(update={"key": "of another contest"}), False),
        (lambda run: run.model_copy(update={"problem": "over the budget"}), False),
        (lambda run: None, False),
    ],
)
def test_a_kept_run_counts_only_whole_and_of_the_same_program_contest_and_machine(
    entry: Entry, tmp_path: Path, change: Callable[[Run], Run | None], is_kept: bool
) -> None:
    record = runs.place(tmp_path, entry) / runs.RECORD
    record.parent.mkdir(parents=True)
    changed = change(a_run("deep", 2))
    record.write_text(changed.model_dump_json() if changed else a_run("deep").model_dump_json()[:-9], "utf-8")
    assert (runs.kept(tmp_path, entry, "key") is not None) is is_kept


def test_the_key_names_program_contest_data_and_cores(entry: Entry) -> None:
    kit: Any = SimpleNamespace(record=SimpleNamespace(model_dump_json=lambda: "{}"))
    other_kit: Any = SimpleNamespace(record=SimpleNamespace(model_dump_json=lambda: "{other}"))
    again = [runs.key_of(entry, PROFILE, kit, 2) for _ in range(2)]
    keys = {
        again[0],
        runs.key_of(entry, EMBEDDED, kit, 2),
        runs.key_of(entry, PROFILE, other_kit, 2),
        runs.key_of(entry, PROFILE, kit, 3),
    }
    assert again[0] == again[1]
    assert len(keys) == 4


def trained(charged: float, outcome: Outcome = Outcome.COMPLETE) -> Any:
    receipt = receipts_factory.receipt(Lane.REHEARSAL)
    time = TimeSplit(start_up=10.0, train=charged - 2.0, tail=2.0, total=10.0 + charged)
    return receipt.model_copy(update={"time": time, "outcome": outcome, "problem": "exit code 1"})


def scored(profile: Profile, **settings: Any) -> Any:
    official = profile.evaluation.official.model_copy(update=settings)
    one = receipts_factory.evaluation("trusted", official.split, official.max_tokens, 2.5)
    evaluation = one.model_copy(
        update={name: getattr(official, name) for name in ("seq_len", "batch_size", "world_size")}
    )
    return receipts_factory.receipt(Lane.TRUSTED).model_copy(update={"evaluations": [evaluation]})


def test_a_run_counts_with_a_score_within_the_budget_and_no_other(entry: Entry) -> None:
    short = PROFILE.model_copy(update={"budget": PROFILE.budget.model_copy(update={"startup_updates_excluded": 1})})

    def problem(receipt: Any, judged: Any) -> str:
        return runs.measured(entry, receipt, judged, short, "key").problem or ""

    good = runs.measured(entry, trained(299.0), scored(short), short, "key")
    assert good.counts
    assert good.val_bpb == float.fromhex(scored(short).evaluations[0].val_bpb)
    assert problem(trained(301.0), scored(short)) == "over the budget: 301.0 s are charged of 300 s"
    assert problem(trained(299.0, Outcome.FAILED), scored(short)) == "failed: exit code 1"
    assert problem(trained(299.0), None) == "left no checkpoint"
    assert problem(trained(299.0), scored(short, max_tokens=4096)).startswith("not scored")
    many = PROFILE.model_copy(update={"budget": PROFILE.budget.model_copy(update={"startup_updates_excluded": 99})})
    assert "of which" in (runs.measured(entry, trained(299.0), scored(many), many, "key").problem or "")


def test_systems_are_ranked_by_bits_per_byte_against_the_baseline_and_losses_compared_at_equal_steps() -> None:
    race = a_race(a_run("baseline", steps=40), a_run("baseline", 2, bpb=2.2), a_run("deep", bpb=1.8, steps=20))
    assert [system.name for system in race.systems] == ["deep", "baseline"]
    best, baseline = race.systems
    assert race.equal_steps == 20
    assert best.loss is not None
    assert baseline.loss is not None
    assert best.loss.mean == baseline.loss.mean
    assert loss_at(a_run("deep"), 40) != loss_at(a_run("deep"), 20) == pytest.approx(8.0 - 1.9)
    assert best.against == pytest.approx(1.8 / 2.1 - 1)
    assert baseline.val_bpb is not None
    assert baseline.val_bpb.deviation == pytest.approx(0.2 / 2**0.5)
    assert baseline.tokens_per_second is not None
    assert baseline.tokens_per_second.mean == pytest.approx(10_240)
    assert told(race).endswith("14.3 % below the baseline at equal time: the target of 12 % is met")
    missed = a_race(a_run("baseline"), a_run("deep", bpb=1.8))
    assert "is missed" in told(missed)
    assert (race.passed, missed.passed, missed.is_whole) == (True, False, True)
    assert "no system is better" in told(a_race(a_run("baseline"), a_run("deep", bpb=2.1)))


def test_a_system_of_which_a_run_does_not_count_has_no_numbers_and_the_race_fails() -> None:
    failed = a_run("deep", 2, bpb=1.0, problem="over the budget")
    race = a_race(a_run("baseline"), a_run("deep", bpb=1.0), failed)
    assert not race.is_whole
    assert race.best is race.baseline
    assert race.systems[-1].val_bpb is None
    assert told(race) == "1 of 2 systems have no result: deep, seed 2: over the budget"
    assert a_race(a_run("baseline")).passed


def test_terminal_and_page_tell_the_same_numbers() -> None:
    race = a_race(a_run("baseline", bpb=2.1234), a_run("deep", problem="exit <1>"))
    console = Console(record=True, width=200, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115
    shown.show(race, console)
    text, html = console.export_text(), page(race)
    for cell in ("2.1234", "10,240", "700 MiB", "1.50 M", "+0.0 %"):
        assert cell in text, cell
        assert cell in html, cell
    assert "no result: seed 1: exit <1>" in text
    assert "no result: seed 1: exit &lt;1&gt;" in html
    assert html.count('<svg class="chart"') == 3
    assert "http" not in html.replace("http://www.w3.org", "")
    assert page(race) == html != page(a_race(a_run("baseline", bpb=2.2)))


def test_the_contest_of_a_race_has_its_budget_in_profile_and_kit(tmp_path: Path) -> None:
    read = contest.written(PROFILE, tmp_path / "contest.yaml")
    assert read == PROFILE
    assert (read.budget.train_seconds, read.kit.constants["TRAIN_TIME_BUDGET_SECONDS"]) == (300.0, 300)
    assert read.budget.run_timeout_seconds - EMBEDDED.budget.run_timeout_seconds == 240
    assert b"TRAIN_TIME_BUDGET_SECONDS = 300" in (KitSource(STAND_IN / "prepare.py").stating(read.kit.constants) or b"")
    assert KitSource(STAND_IN / "prepare.py").stating(EMBEDDED.kit.constants) is None


def test_a_config_trains_on_a_plain_cpu_by_torchs_operators(tmp_path: Path) -> None:
    file = tmp_path / "one-embedded.yaml"
    file.write_text(
        "norm: nki\nmlp: fused\nprojection: fp8_nki\nactivation: swiglu\nadamw: nki\nadam_state: bfloat16\n"
    )
    plain = {"norm": "torch", "mlp": "torch", "projection": "torch", "adamw": "torch", "adam_state": "float32"}
    assert entries.cpu_settings(file) == {"device": "cpu", "dtype": "float32", "loss": "chunked", **plain}
    file.write_text("ngram: nki\nloss: nki\n", "utf-8")
    assert entries.cpu_settings(file) == {"device": "cpu", "dtype": "float32", "ngram": "torch", "loss": "chunked"}
    assert entries.config_of(str(file)) == ("one", file)


def test_another_trainer_runs_by_its_file_or_its_launch_string_with_the_seed_in_it(entry: Entry) -> None:
    file = entry.artifact.train_py
    assert entries.other(f"theirs={file}", 3, EMBEDDED).plan.text == LAUNCH
    text = f"NEURON_LOGICAL_NC_CONFIG=1 torchrun --standalone --nproc_per_node=1 {file} --seed={{seed}}"
    theirs = entries.other(f"their-s={text}", 3, EMBEDDED)
    assert (theirs.name, theirs.plan.program) == ("their-s/3", ["train.py", "--seed=3"])
    assert theirs.artifact.sha256 == entry.artifact.sha256
    for wrong in ("theirs", f"the/irs={file}", "theirs=nowhere.py", f"theirs={file} {file}"):
        with pytest.raises(EntryError, match=r"--other .*expected"):
            entries.other(wrong, 1, EMBEDDED)
    with pytest.raises(EntryError, match="nothing: no such system"):
        entries.config_of("nothing")


def test_the_published_results_name_systems_and_knobs_that_exist() -> None:
    known = {field.name for field in dataclasses.fields(Config)}
    found = negative.pairs()
    assert len({pair.directory for pair in found}) == len(found) >= 3
    for pair in found:
        assert entries.config_of(pair.system)
        assert {*pair.old, *pair.new} <= known
        assert pair.old != pair.new


def test_a_pair_is_tried_once_and_told_by_the_trials_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = {
        "decision": "reject", "reason": "worse", "pairs": [{"time_ratio": 1.2}, {"time_ratio": 1.0}],
        "at_equal_time": {"mean": 0.02}, "at_equal_steps": {"mean": -0.01}, "steps_cost": None, "per_step": None,
    }  # fmt: skip
    codes = [1, 2]

    def ran(words: list[str], **_: object) -> SimpleNamespace:
        out = Path(words[-1])
        out.mkdir(parents=True)
        if codes[0] == 1:
            (out / negative.DOCUMENT).write_text(json.dumps(trial), "utf-8")
        return SimpleNamespace(returncode=codes.pop(0))

    monkeypatch.setattr(negative.subprocess, "run", ran)
    first, second = negative.pairs()[:2]
    said: list[str] = []

    def tried(*wanted: negative.Pair) -> list[negative.Told]:
        return negative.try_all(wanted, lambda _: (tmp_path, tmp_path, tmp_path), tmp_path, said.append)

    (told_once,) = tried(first)
    assert (told_once.at_equal_time, told_once.at_equal_steps, told_once.steps_cost) == (0.02, -0.01, None)
    assert told_once.time_ratio == pytest.approx(1.1)
    assert tried(first) == [told_once]
    assert said == [f"{first.name}, 1 of 1"]
    with pytest.raises(EntryError, match="exit code 2"):
        tried(first, second)
    console = Console(record=True, width=200, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115
    negative.show([told_once], console)
    text = console.export_text()
    assert all(cell in text for cell in ("+0.0200", "-0.0100", "1.100 x", first.published))


def test_a_list_of_pairs_that_says_something_else_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "pairs.yaml"
    file.write_text("- {name: a, published: b, system: c, device: gpu, old: {}, new: {}}\n", "utf-8")
    with pytest.raises(EntryError, match=r"pairs\.yaml: 0\.device"):
        negative.pairs(file)


def test_the_document_is_json_that_can_be_read_back() -> None:
    race = a_race(a_run("baseline"), a_run("deep", problem="failed"))
    assert Race.model_validate(json.loads(race.model_dump_json())) == race
