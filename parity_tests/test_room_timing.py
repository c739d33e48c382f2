"""The split of a run's real time: every second goes into one part, and the parts add up to the whole exactly."""

from __future__ import annotations

import random
from itertools import pairwise

from parity_tests.receipts_factory import receipt
from scorer.room import timing
from scorer.room.receipts import Lane, TimeSplit
from scorer.room.records import Journal, Span

LAUNCHED = 1000.0625  # a monotonic clock's hour


def journal(
    updates: list[float],
    *,
    started: float = 2.0,
    program: float | None = 3.0,
    training: float | None = 4.0,
    spans: tuple[tuple[str, float, float], ...] = (),
) -> Journal:
    """Rank 0's marks, in seconds since the launch."""
    return Journal(
        rank=receipt(Lane.ARTIFACT).ranks[0],
        started_at=LAUNCHED + started,
        ended=True,
        problem=None,
        update_times=[LAUNCHED + at for at in updates],
        program_at=None if program is None else LAUNCHED + program,
        training_at=None if training is None else LAUNCHED + training,
        spans=[Span(name, LAUNCHED + began, LAUNCHED + ended) for name, began, ended in spans],
    )


def split(of: Journal, total: float = 20.0, excluded: int = 2) -> TimeSplit:
    found = timing.split(LAUNCHED, LAUNCHED + total, [of], excluded)
    assert found is not None
    return found


def test_each_phase_has_its_seconds() -> None:
    time = split(journal([7.0, 8.0, 9.0, 12.0], spans=(("save", 12.5, 14.0), ("evaluation", 14.0, 17.0))))
    assert (time.start_up, time.train, time.tail, time.total) == (8.0, 4.0, 8.0, 20.0)
    assert time.parts == {
        "launch": 3.0,
        "set-up": 1.0,
        "first updates": 4.0,
        "train": 4.0,
        "save": 1.5,
        "evaluation": 3.0,
        "exit": 3.5,
    }


def test_what_happens_between_updates_is_taken_out_of_them() -> None:
    spans = (("evaluation", 5.0, 6.0), ("save", 9.0, 9.5), ("save", 11.75, 12.5))
    time = split(journal([7.0, 8.0, 9.0, 12.0], spans=spans))
    parts = {name: time.parts[name] for name in ("first updates", "train", "save", "evaluation", "exit")}
    assert parts == {"first updates": 3.0, "train": 3.25, "save": 1.25, "evaluation": 1.0, "exit": 7.5}
    assert sum(time.parts.values()) == time.total


def test_the_parts_add_up_to_the_last_bit() -> None:
    draw = random.Random(5)
    for _ in range(200):
        marks = sorted(draw.uniform(0, 1900) for _ in range(12))
        spans = [(draw.choice(["save", "evaluation"]), *pair) for pair in pairwise(sorted(draw.sample(marks, 4)))][::2]
        program, training, *updates, total = marks
        of = journal(updates, program=program, training=training, spans=tuple(spans))
        time = split(of, total, excluded=draw.randrange(12))
        assert sum(time.parts.values()) == time.total == time.start_up + time.train + time.tail
        assert min(time.parts.values()) >= 0
        assert abs(time.total - total) < 1e-5


def test_without_marks_the_interpreter_s_start_and_the_first_update_stand_for_them() -> None:
    time = split(journal([7.0, 8.0, 9.0], program=None, training=None))
    assert {name: time.parts[name] for name in ("launch", "set-up", "first updates")} == {
        "launch": 2.0,
        "set-up": 5.0,
        "first updates": 1.0,
    }


def test_nothing_excluded_leaves_no_start_up() -> None:
    time = split(journal([7.0, 8.0]), excluded=0)
    assert (time.start_up, time.train) == (0.0, 8.0)
    assert sum(time.parts.values()) == time.total


def test_a_run_without_an_update_has_no_split() -> None:
    assert timing.split(LAUNCHED, LAUNCHED + 9.0, [journal([])], 2) is None
    assert timing.split(LAUNCHED, LAUNCHED + 9.0, [], 2) is None
