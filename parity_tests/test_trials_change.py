"""A change on trial: how differences are measured, what the profile's thresholds make of them, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from parity_tests import receipts_factory as factory
from parity_tests.test_review_artifact import SOURCE
from parity_tests.test_review_artifact import write as build
from scorer.artifact import Artifact
from scorer.cli import change as command
from scorer.compare.trials import change
from scorer.compare.trials.change import Arm, ChangeTrial
from scorer.compare.trials.decision import Measured, decide, spread
from scorer.compare.trials.matching import ChangeError, Matched, difference, match
from scorer.report.change import change_page, facts, means
from scorer.room.race import Race
from scorer.room.receipts import Lane, Outcome
from scorer.room.turns import Taken

PROFILE = factory.load("trainium-frontier-phase1")
RULES = PROFILE.trial
LAUNCH = "NEURON_LOGICAL_NC_CONFIG=1 torchrun --standalone --nproc_per_node=8 train.py"


def decided(differences: list[float], ratio: float = 1.0, drift: float | None = 0.0) -> str:
    return decide(Measured(differences, [ratio] * len(differences), drift), RULES)[0]


@pytest.mark.parametrize(
    ("differences", "ratio", "drift", "decision"),
    [
        ([-0.0010, -0.0010], 1.0, 0.0, "adopt"),
        ([-0.0009, -0.0009], 1.0, 0.0, "reject"),
        ([-0.0020, -0.0006], 1.0, 0.0, "adopt"),
        ([-0.0030, 0.0002], 1.0, 0.0, "undecided"),  # of another sign, and far apart
        ([-0.0030, -0.0001], 1.0, 0.0, "undecided"),  # further apart than 0.0015, and two pairs say little
        ([-0.0030, -0.0032, -0.0012, -0.0029, -0.0031], 1.0, 0.0, "adopt"),  # far apart, the interval excludes zero
        ([0.0010, 0.0042, 0.0031, 0.0033], 1.0, 0.0, "reject"),
        ([-0.0050], 1.0, 0.0, "undecided"),  # one pair
        ([], 1.0, None, "undecided"),
        ([-0.0101, -0.0101], 1.0, 0.0, "hold for audit"),
        ([-0.0100, -0.0100], 1.0, 0.0, "adopt"),
        ([-0.0020, -0.0020], 0.90, 0.0, "adopt"),
        ([-0.0020, -0.0020], 0.8999, 0.0, "confounded"),
        ([-0.0020, -0.0020], 1.1001, 0.0, "confounded"),
        ([-0.0020, -0.0020], 1.0, -0.0010, "adopt"),
        ([-0.0020, -0.0020], 1.0, -0.0011, "confounded"),
    ],
)
def test_the_thresholds_of_the_contest_decide(
    differences: list[float], ratio: float, drift: float | None, decision: str
) -> None:
    assert decided(differences, ratio, drift) == decision


DIFFERENCES = st.lists(st.floats(-0.02, 0.02), min_size=1, max_size=6)


@settings(max_examples=200)
@given(DIFFERENCES, st.floats(0.8, 1.2), st.floats(-0.002, 0.002))
def test_nothing_is_adopted_against_a_threshold(differences: list[float], ratio: float, drift: float) -> None:
    mean = sum(differences) / len(differences)
    found = decided(differences, ratio, drift)
    if found == "adopt":
        assert len(differences) >= RULES.pairs
        assert max(differences) < 0
        assert -RULES.hold_bpb - 1e-12 <= mean <= RULES.adopt_bpb + 1e-12
    if not RULES.step_ratio[0] <= ratio <= RULES.step_ratio[1] or abs(drift) > RULES.control_drift_bpb:
        assert found == "confounded"
    if found == "reject":
        assert mean > RULES.adopt_bpb - 1e-12


def test_what_would_decide_decides_when_the_pairs_spread_as_before() -> None:
    differences = [-0.0035, -0.0004]
    decision, reason = decide(Measured(differences, [1.0, 1.0], 0.0), RULES)
    assert decision == "undecided"
    wanted = int(reason.rpartition("about ")[2].split()[0])
    assert decided(differences * (wanted // 2 + 1)) == "adopt"
    assert wanted > len(differences)


def test_the_interval_is_students_and_one_pair_has_none() -> None:
    found = spread([0.0, 2.0], 0.95)
    assert found is not None
    assert found.high == pytest.approx(1 + 12.7062, abs=1e-4)
    assert spread([1.0], 0.95) == change.Spread(mean=1.0, low=None, high=None, pairs=1, confidence=0.95)


def ran(steps: int, seconds: float, bpb: float, worse: float = 0.0, seed: str = "") -> Arm:
    """A run whose loss falls by 0.2 nats for each e-fold of its steps; four bytes a token."""
    losses = [4 - 0.2 * math.log(step) + worse for step in range(1, steps + 1)]
    return Arm(
        seed=seed,
        steps=steps,
        seconds_per_step=seconds,
        val_bpb=bpb,
        losses=losses,
        seconds=[seconds * step for step in range(steps)],
        bytes_per_token=4.0,
    )


def test_learning_and_time_are_told_apart() -> None:
    """The new program learns 0.02 nats more in each step, and makes 8 % fewer of them."""
    slope = 0.2 / (4 * math.log(2))  # bpb
    cost = -slope * math.log(0.92)
    gain = -0.02 / (4 * math.log(2))
    found = change.compare(ran(1000, 1.0, 1.0), ran(920, 1 / 0.92, 1.0 + gain + cost, worse=-0.02), PROFILE)
    assert found.at_equal_steps == pytest.approx(gain)
    assert found.steps_cost == pytest.approx(cost)
    assert found.per_step == pytest.approx(gain)
    assert found.at_equal_time == pytest.approx(gain + cost)
    assert found.bpb_per_percent == pytest.approx(slope * math.log(1.01))
    assert found.steps_cost_by_profile == pytest.approx(-100 * 0.00057 * math.log(0.92))
    assert (found.equal_steps, found.step_ratio) == (920, 0.92)


def test_programs_that_stop_after_a_number_of_steps_are_scored_at_equal_steps() -> None:
    cost = -0.2 / (4 * math.log(2)) * math.log(1 / 1.05)
    found = change.compare(ran(100, 1.0, 1.2), ran(100, 1.05, 1.19), PROFILE)
    assert found.fixed_steps
    assert found.step_ratio == pytest.approx(1 / 1.05)
    assert found.per_step == pytest.approx(-0.01)
    assert found.at_equal_time == pytest.approx(-0.01 + cost)
    by_clock = change.compare(ran(100, 1.0, 1.2), ran(100, 1.01, 1.19), PROFILE)
    assert (by_clock.fixed_steps, by_clock.step_ratio) == (False, 1.0)
    assert by_clock.at_equal_time == pytest.approx(-0.01)


def raced(losses: tuple[float, float], seconds: tuple[float, float], failed: Lane | None = None) -> Race:
    receipts = []
    for lane, loss in zip((Lane.LOCAL, Lane.ARTIFACT), losses, strict=True):
        receipt = factory.receipt(lane)
        for rank in receipt.ranks:
            for update in rank.updates:
                update.losses = [loss.hex()]
        if failed is lane:
            receipt.outcome, receipt.problem = Outcome.FAILED, "rank 0: ValueError: too small"
        receipts.append(receipt)
    timed = [[Taken(update, each, each) for update in range(8)] for each in seconds]
    return Race((receipts[0], receipts[1]), (timed[0], timed[1]))


@pytest.mark.parametrize(
    ("losses", "seconds", "stopped"),
    [
        ((4.0, 4.0), (1.0, 1.05), ""),
        ((4.0, 4.04), (1.0, 1.05), ""),
        ((4.0, 4.06), (1.0, 1.05), "nats higher"),
        ((4.0, 4.06), (1.0, 0.95), ""),  # it is faster: the full run says whether that pays
        ((4.0, math.nan), (1.0, 1.0), "no number"),
        ((4.0, 3.0), (1.0, 1.2), "confounded"),
    ],
)
def test_the_gate_stops_what_is_hopeless(
    losses: tuple[float, float], seconds: tuple[float, float], stopped: str
) -> None:
    gate = change.judge_gate(raced(losses, seconds), PROFILE)
    assert stopped in gate.stopped
    assert bool(stopped) == bool(gate.stopped)


def test_a_program_that_does_not_run_is_rejected_and_an_old_one_decides_nothing() -> None:
    pair = Matched("", factory.artifact(), factory.artifact())
    for lane, decision in ((Lane.ARTIFACT, "reject"), (Lane.LOCAL, "undecided")):
        gate = change.judge_gate(raced((4.0, 4.0), (1.0, 1.0), failed=lane), PROFILE)
        found = change.conclude([pair], LAUNCH, PROFILE, difference([pair], several=False), gate, [], None)
        assert (found.decision, "ValueError: too small" in found.reason) == (decision, True)


def built(sha256: str, sources: str = "1", **knobs: Any) -> Artifact:
    manifest = {
        "knobs": {name: {"value": value, "origin": "", "kind": "config"} for name, value in knobs.items()},
        "sources": {"recipe/model.py": sources, "recipe/configs/small.yaml": sha256},
    }
    return Artifact(Path("train.py"), "", LAUNCH, manifest, sha256, None)


def test_builds_are_paired_by_their_seed_and_the_change_is_what_else_differs() -> None:
    old = [built(f"o{seed}", seed=seed, lr=0.1) for seed in (1, 2)]
    new = [built(f"n{seed}", seed=seed, lr=0.2) for seed in (2, 1)]
    pairs = match(old, new)
    assert [(pair.seed, pair.old.sha256, pair.new.sha256) for pair in pairs] == [
        ("seed 1", "o1", "n1"),
        ("seed 2", "o2", "n2"),
    ]
    assert difference(pairs, several=False).told == "lr 0.1 -> 0.2"
    with pytest.raises(ChangeError, match="other values of seed"):
        match(old, [built("n", seed=seed, lr=0.2) for seed in (2, 3)])
    with pytest.raises(ChangeError, match="2 old and 1 new"):
        match(old, new[:1])


def test_two_changes_at_once_are_refused_unless_asked_for() -> None:
    for other in (built("n", lr=0.2, depth=3), built("n", "2", lr=0.2, depth=2)):
        pairs = match([built("o", lr=0.1, depth=2)], [other])
        with pytest.raises(ChangeError, match=r"2 things differ: .*; .*\. Nobody knows"):
            difference(pairs, several=False)
        assert "lr 0.1 -> 0.2" in difference(pairs, several=True).told
    one = match([built("o", "1", lr=0.1)], [built("n", "2", lr=0.1)])
    assert difference(one, several=False).sources == ["recipe/model.py"]
    same = match([built("o", lr=0.1)], [built("o", lr=0.1)])
    assert "a control" in difference(same, several=False).told


class Runner:
    """Stands for the command's runs: what they show is known, and the order in which they are asked for is kept."""

    asked: ClassVar[list[str]] = []

    def __init__(self, bench: Any, directory: Any) -> None:
        self.asked.clear()

    def gate(self, pair: Matched) -> change.Gate:
        self.asked.append(f"gate, {pair.seed}")
        return change.judge_gate(raced((4.0, 4.0), (1.0, 1.0)), PROFILE)

    def pair(self, number: int, pair: Matched) -> tuple[Arm, Arm]:
        self.asked.append(pair.seed)
        later = 0.001 * number
        return ran(100, 1.0, 1.2 + later, seed=pair.seed), ran(98, 1.02, 1.18 + later, seed=pair.seed)

    def alone(self, name: str, seed: str, artifact: Artifact) -> Arm:
        self.asked.append(name)
        return ran(100, 1.0, 1.2, seed=seed)


def tried(tmp_path: Path, new: dict[str, Any], *words: str) -> Result:
    """`scorer trial` of builds for two seeds, the new ones with other knobs."""
    for name, knobs in (("old", {}), ("new", new)):
        (tmp_path / name).mkdir()
        for seed in (1, 2):
            values = {"lr": 0.1, "depth": 2, "seed": seed, **knobs}
            frozen = {knob: {"value": value, "origin": "", "kind": "config"} for knob, value in values.items()}
            build(tmp_path / name / str(seed), SOURCE + f"# {values}\n", manifest={"knobs": frozen})
    return CliRunner().invoke(
        command.app, ["trial", str(tmp_path / "old"), str(tmp_path / "new"), "-o", str(tmp_path / "out"), *words]
    )


def test_the_command_tries_seed_by_seed_with_a_control_and_leaves_its_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "Runner", Runner)
    result = tried(tmp_path, {"lr": 0.2})
    assert (result.exit_code, Runner.asked) == (
        0,
        ["gate, seed 1", "seed 1", "seed 2", "control: the old one again"],
    ), result.output
    report = ChangeTrial.model_validate_json((tmp_path / "out" / "trial.json").read_bytes())
    assert (report.decision, report.difference.told) == ("adopt", "lr 0.1 -> 0.2")
    assert (tmp_path / "out" / "trial.html").read_text("utf-8") == change_page(report)
    assert "ADOPT" in result.output
    assert "at equal steps" in result.output


def test_the_command_refuses_two_changes_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "Runner", Runner)
    Runner.asked.clear()
    result = tried(tmp_path, {"lr": 0.2, "depth": 3})
    assert (result.exit_code, Runner.asked) == (2, [])
    assert "say --several" in result.output


def sample_change() -> ChangeTrial:
    """A change that is adopted after two pairs of runs."""
    pairs = [Matched(f"seed {seed}", built("o", lr=1), built("n", lr=2)) for seed in (1, 2)]
    results = [
        change.compare(ran(100, 1.0, 1.2, seed=f"seed {seed}"), ran(98, 1.02, bpb, seed=f"seed {seed}"), PROFILE)
        for seed, bpb in ((1, 1.198), (2, 1.1985))
    ]
    gate = change.judge_gate(raced((4.0, 4.0), (1.0, 1.0)), PROFILE)
    changed = difference(pairs, several=False)
    return change.conclude(pairs, LAUNCH, PROFILE, changed, gate, results, ran(100, 1.0, 1.2003))


def test_what_runs_are_too_short_for_is_said() -> None:
    report = sample_change()
    assert means(report)["what the step time costs"].startswith("+0.00146 bpb")
    short = change.compare(ran(6, 1.0, 1.2), ran(6, 1.0, 1.1), PROFILE)
    assert short.steps_cost is None
    cut = report.model_copy(update={"pairs": [short], "steps_cost": None, "per_step": None})
    assert means(cut)["what the step time costs"] == "not told: 6 losses of the old program are too few for a curve"
    assert "learned per step" not in means(cut)
    assert facts(report)["gate"].startswith("8 updates of each")
    once = report.model_copy(update={"gate": report.gate.model_copy(update={"updates": 1})})
    assert facts(once)["gate"].startswith("1 update of each")


def test_a_page_shows_both_curves_over_steps_and_over_seconds() -> None:
    report = sample_change()
    assert (report.decision, report.control_drift) == ("adopt", pytest.approx(0.0003))
    assert ChangeTrial.model_validate_json(report.json_text()) == report
    page = change_page(report)
    assert page == change_page(report)
    assert page.count('<svg class="chart"') == 4
    assert "<script" not in page
    for text in ("Adopt", "Loss against updates", "Loss against seconds", "lr 1 -&gt; 2"):
        assert text in page
    assert means(report)["the cost by the contest's profile"].startswith("+0.00115")
    assert "goes on" in facts(report)["gate"]
