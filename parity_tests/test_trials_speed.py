"""The speed trial: a slowdown by the limit is found and named, none is found where there is none, and what is not known
is said to be so.

Programs are modelled by the seconds of their updates, on a machine that drifts and has other things to do; how two
programs take turns is shown with real processes.
"""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from parity_tests import receipts_factory
from parity_tests.room_programs import plan
from scorer.artifact import Artifact
from scorer.compare.trials import speed
from scorer.compare.trials.interval import interval, log_ratio, looks
from scorer.compare.trials.result import Trial
from scorer.contest import Profile, load
from scorer.findings import Place
from scorer.room.lane import LaneSpec
from scorer.room.observer.settings import Settings
from scorer.room.observer.turns import Turns as ObserverTurns
from scorer.room.race import Course, Race, race
from scorer.room.receipts import Clock, Lane, LineTime, OperatorCall, Outcome, Receipt, Site
from scorer.room.turns import COUNT_PROCESSOR, GO, STOP, Taken

PROFILE = load("embedded")
SOURCE = "import os\n\n\ndef main():\n    loss.backward()\n    optimizer.step()\n"
MODEL, LOOP = Place(file="recipe/model.py", line=40), Place(file="recipe/train.py", line=7)
Change = Callable[[Receipt], None]


@dataclass
class Machine:
    """Times as a busy machine gives them: a speed of each process, a drift, noise, and now and then a long pause."""

    ratio: float = 1.0
    sleeps: float = 0.0  # share of an update that the artifact waits beside computing
    noise: float = 0.035  # of one update; so much was measured on two busy cores
    processes: float = 0.005
    seed: int = 7
    ends_after: int | None = None
    change: Change | None = None
    fails: Lane | None = None
    profile: Profile = PROFILE

    def run(self, number: int, course: Course) -> Race:
        chance = np.random.default_rng([self.seed, number])
        timed: tuple[list[Taken], list[Taken]] = [], []
        own = np.exp(self.processes * chance.standard_normal(2))
        for update in range(course.timed if self.ends_after is None else self.ends_after):
            drift = 1 + 0.01 * update
            for side, slower in enumerate((1.0, self.ratio)):
                processor = 0.1 * slower * drift * own[side] * math.exp(self.noise * chance.standard_normal())
                pause = 0.4 if chance.random() < 0.1 else 0.0
                waits = 0.1 * self.sleeps if side else 0.0
                timed[side].append(Taken(update, processor + pause + waits, processor))
        local, artifact = receipts_factory.receipt(Lane.LOCAL), receipts_factory.receipt(Lane.ARTIFACT)
        for receipt, longer in ((local, 0.0), (artifact, 0.004)):
            for rank in receipt.ranks:
                rank.times = [
                    _time(receipt, MODEL, "aten::mm", 0.05, 0.001),
                    _time(receipt, LOOP, "aten::mul", 0.0, 0.002 + longer),
                ]
            if self.fails is receipt.lane:
                receipt.outcome, receipt.problem = Outcome.FAILED, "rank 0: ValueError: too small"
                receipt.observed_findings = [
                    {"code": "RUN001", "message": "it failed", "severity": "hard", "lane": receipt.lane.value}
                ]
        if self.change is not None:
            self.change(artifact)
        return Race((local, artifact), timed)

    def trial(self) -> Trial:
        places = tuple({5: LOOP, 6: MODEL}.get(line) for line in range(1, 7))
        artifact = Artifact(Path("train.py"), SOURCE, plan().text, None, "aa" * 32, places)
        return speed.run_trial(artifact, self.profile, plan().text, self.run)


def _time(receipt: Receipt, place: Place, operator: str, seconds: float, before: float) -> LineTime:
    lines = {LOOP: 5, MODEL: 6}
    local = receipt.lane is Lane.LOCAL
    site = Site(file=place.file, line=place.line) if local else Site(file="train.py", line=lines[place])
    return LineTime(site=site, operator=operator, count=1, seconds=seconds, before_seconds=before)


def shown(trial: Trial) -> list[str]:
    return [found.code for found in trial.findings]


def test_the_interval_has_students_width_of_the_tables() -> None:
    # Two rounds with a standard error of 1; three with one of sqrt(1/3), whose error is split over two looks.
    assert interval([0.0, 2.0], confidence=0.95, looked=1).half_width == pytest.approx(12.7062, abs=1e-4)
    assert interval([0.0, 1.0, 2.0], confidence=0.9, looked=2).half_width == pytest.approx(4.3027 / 3**0.5, abs=1e-4)


def test_a_few_disturbed_updates_do_not_move_a_rounds_ratio() -> None:
    calm = log_ratio([1.0] * 20, [1.02] * 20)
    assert calm == pytest.approx(math.log(1.02))
    assert log_ratio([1.0] * 20, [1.02] * 16 + [9.0] * 4) == pytest.approx(calm)
    assert log_ratio([1.0] * 20, [1.03] * 20) != pytest.approx(calm)


def test_the_interval_holds_the_ratio_as_often_as_it_says() -> None:
    """Of equal programs at 95 %; with a twentieth of that confidence it does not."""
    chance = np.random.default_rng(11)
    rounds = [chance.normal(0.02, 0.01, 8) for _ in range(2000)]

    def share(confidence: float) -> float:
        found = [interval(logs, confidence, 1) for logs in rounds]
        return sum(one.low < 0.02 < one.high for one in found) / len(found)

    assert 0.94 < share(0.95) < 0.96
    assert share(0.05) < 0.1


def test_looking_more_often_asks_for_more() -> None:
    logs = [0.01, 0.03, 0.02, 0.02]
    assert interval(logs, 0.95, 6).half_width > interval(logs, 0.95, 1).half_width
    assert looks(4, 16) == [4, 8, 16]
    assert looks(3, 16) == [3, 6, 12, 16]
    assert looks(5, 5) == [5]


@pytest.mark.parametrize(("middle", "decision"), [(0.0, "same"), (0.029, "slower"), (-0.029, "faster"), (0.01, "same")])
def test_an_interval_narrower_than_half_the_limit_decides(middle: float, decision: str) -> None:
    narrow = interval([middle - 0.002, middle + 0.002, middle, middle], 0.95, 1)
    assert narrow.decide(0.03) == decision
    assert narrow.decide(0.3) == "same"
    wide = replace(narrow, half_width=0.2)
    assert wide.decide(0.03) == "undecided"
    assert wide.rounds_to_decide(0.03) > 100


def test_equal_programs_on_a_busy_machine_pass() -> None:
    for seed in range(4):
        trial = Machine(seed=seed).trial()
        assert (trial.verdict, shown(trial)) == ("pass", []), trial.reason
        assert "a slowdown by 3 % is excluded" in trial.reason


def test_equal_programs_have_a_ratio_of_one_within_the_interval() -> None:
    trial = Machine(profile=_with(limit=0.0001, rounds=[6, 6])).trial()
    low, high = (float(word.strip("(),")) for word in trial.reason.split("(")[1].split(")")[0].split(" to "))
    assert low < 1 < high


@pytest.mark.parametrize(("ratio", "noise"), [(1.03, 0.02), (1.04, 0.035), (1.07, 0.035)])
def test_a_slowdown_by_the_limit_is_found(ratio: float, noise: float) -> None:
    for seed in range(4):
        trial = Machine(ratio=ratio, noise=noise, seed=seed).trial()
        assert (trial.verdict, shown(trial)) == ("fail", ["SPD001"]), trial.reason


def test_a_slowdown_by_the_limit_never_passes_however_noisy_the_machine_is() -> None:
    for seed in range(12):
        assert Machine(ratio=1.03, noise=0.06, seed=seed).trial().verdict != "pass"


def test_two_hosts_apart_are_compared_in_pairs_and_not_by_their_means() -> None:
    """A machine that becomes slower by 1 % from update to update, and by half from one round to the next."""

    class Drifting(Machine):
        def run(self, number: int, course: Course) -> Race:
            raced = super().run(number, course)
            for taken in raced.timed:
                taken[:] = [replace(t, processor_seconds=t.processor_seconds * 1.5**number) for t in taken]
            return raced

    assert Drifting(ratio=1.0).trial().verdict == "pass"
    assert shown(Drifting(ratio=1.04).trial()) == ["SPD001"]


def test_waiting_is_found_where_processor_time_decides() -> None:
    """The wall is looked at too: a program that sleeps uses no processor."""
    assert shown(Machine(sleeps=0.3).trial()) == ["SPD001"]
    assert "recipe's time" in Machine(sleeps=0.3).trial().reason


def test_a_faster_artifact_is_told_as_advice() -> None:
    trial = Machine(ratio=0.9).trial()
    assert (trial.verdict, shown(trial)) == ("pass", ["SPD002"])


def test_what_grew_is_named_where_the_operators_are_the_same() -> None:
    (found,) = Machine(ratio=1.05).trial().findings
    assert found.place == LOOP
    assert "both are made of the same operators and kernels" in found.message
    assert (
        "the program's own time before aten::mul at recipe/train.py:7: 2.00 ms locally, 6.00 ms in the artifact"
        in found.message
    )


def test_what_grew_after_the_last_operator_has_the_line_that_ends_the_update() -> None:
    def waits(receipt: Receipt) -> None:
        for rank in receipt.ranks:
            rank.times.append(_time(receipt, MODEL, "", 0.0, 0.009))

    (found,) = Machine(ratio=1.05, change=waits).trial().findings
    assert found.place == MODEL
    told = f"the program's own time before the update's end at {MODEL}: 0.00 ms locally, 9.00 ms in the artifact"
    assert told in found.message


def test_an_operator_that_differs_is_named_first() -> None:
    def unfused(receipt: Receipt) -> None:
        for rank in receipt.ranks:
            rank.census.append(
                OperatorCall(operator="aten::bmm", signature="x", count=4, site=Site(file="train.py", line=6))
            )

    (found,) = Machine(ratio=1.07, change=unfused).trial().findings
    assert "aten::bmm(x) 0 times locally, 4 in the artifact" in found.message
    assert found.place == MODEL
    # The parity comparison judges that; this trial does so only of what is slower.
    assert shown(Machine(change=unfused).trial()) == []


def test_too_noisy_a_machine_is_inconclusive_and_says_what_would_decide() -> None:
    trial = Machine(processes=0.08, ratio=1.02).trial()
    assert (trial.verdict, trial.findings) == ("inconclusive", [])
    assert "rounds would decide (speed_trial.rounds and seconds)" in trial.reason
    assert len(trial.rows) == PROFILE.speed_trial.rounds[1]


def test_no_round_is_begun_that_would_end_too_late() -> None:
    took = receipts_factory.receipt(Lane.ARTIFACT).time
    assert took is not None
    noisy = Machine(processes=0.08, ratio=1.02, profile=_with(seconds=3.5 * took.total))
    trial = noisy.trial()
    assert (trial.verdict, len(trial.rows)) == ("inconclusive", 3)
    assert "3 rounds" in trial.reason
    # What is known by then counts.
    assert shown(replace(noisy, processes=0.0, noise=0.0, ratio=1.1).trial()) == ["SPD001"]


def test_a_program_that_ends_too_early_is_inconclusive_and_told() -> None:
    trial = Machine(ends_after=3).trial()
    assert (trial.verdict, trial.findings) == ("inconclusive", [])
    assert "3 updates could be timed" in trial.reason
    assert "a fixed number of steps" in trial.reason


@pytest.mark.parametrize(("lane", "verdict"), [(Lane.ARTIFACT, "fail"), (Lane.LOCAL, "inconclusive")])
def test_a_program_that_fails_is_told(lane: Lane, verdict: str) -> None:
    trial = Machine(fails=lane).trial()
    assert (trial.verdict, shown(trial)) == (verdict, ["RUN001"])
    assert len(trial.rows) == 0


def test_the_same_times_give_the_same_document() -> None:
    assert Machine(ratio=1.05).trial().json_text() == Machine(ratio=1.05).trial().json_text()
    assert Machine(ratio=1.05, seed=8).trial().json_text() != Machine(ratio=1.05).trial().json_text()


def _with(**fields: object) -> Profile:
    return PROFILE.model_copy(update={"speed_trial": PROFILE.speed_trial.model_copy(update=fields)})


# -- turns -----------------------------------------------------------------------------------------------------------


class Rank(threading.Thread):
    """A rank of a program, without the program: it makes updates as long as it is let."""

    def __init__(self, records: Path, first: int, tell: Callable[[str], None], updates: int) -> None:
        super().__init__(daemon=True)
        fields = {field.name: None for field in dataclasses.fields(Settings)}
        settings = Settings(**{**fields, "records": str(records), "turns_from": first})  # type: ignore[arg-type]
        self.turns, self.tell, self.updates = ObserverTurns(settings), tell, updates

    def run(self) -> None:
        word = GO
        for update in range(1, self.updates + 1):
            self.tell(word.decode())
            word = self.turns.wait(update, 0.25)
            if word == STOP:
                return


def raced(
    directory: Path, monkeypatch: pytest.MonkeyPatch, *, together: bool = True, updates: int = 99
) -> tuple[Race, list[str]]:
    """A race of two programs of two ranks each; and what their first ranks did, in order."""
    told: list[str] = []
    artifact = Artifact(Path("train.py"), SOURCE, plan().text, None, "aa" * 32, None)
    specs = tuple(LaneSpec(lane, plan(), artifact, Clock(kind="real")) for lane in (Lane.LOCAL, Lane.ARTIFACT))
    lock = threading.Lock()

    def run(spec: LaneSpec) -> Receipt:
        assert spec.turns is not None
        records = directory / spec.lane.value
        records.mkdir()
        spec.turns.open(records, 2)
        with lock:
            ranks = []
            for number in range(2):
                monkeypatch.setenv("RANK", str(number))
                name = spec.lane.value[0]
                tell = (lambda word, name=name: told.append(f"{name}{word}")) if number == 0 else (lambda word: None)
                ranks.append(Rank(records, 2, tell, updates))
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join()
        return receipts_factory.receipt(spec.lane)

    course = Course(2, 30.0, 1, by_processor=True, timed=4, together=together)
    return race(run, (specs[0], specs[1]), course, second_goes_first=False), told


def test_two_programs_take_turns_and_the_first_to_go_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result, told = raced(tmp_path, monkeypatch)
    assert [len(side) for side in result.timed] == [4, 4]
    assert {taken.seconds for side in result.timed for taken in side} == {0.25}
    assert [taken.update for taken in result.timed[0]] == [3, 4, 5, 6]
    turns = [word for word in told if word not in ("l.", "a.")] + [word[0] for word in told if word in ("l.", "a.")][4:]
    assert turns == [f"l{COUNT_PROCESSOR.decode()}", f"a{COUNT_PROCESSOR.decode()}", *"laallaal"]
    assert [receipt.lane for receipt in result.receipts] == [Lane.LOCAL, Lane.ARTIFACT]


def test_programs_that_share_no_device_run_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result, told = raced(tmp_path, monkeypatch, together=False)
    assert [len(side) for side in result.timed] == [4, 4]
    assert "".join(word[0] for word in told) == "l" * 7 + "a" * 7


def test_a_program_that_ends_ends_the_race(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = raced(tmp_path, monkeypatch, updates=4)
    assert [len(side) for side in result.timed] == [1, 1]
