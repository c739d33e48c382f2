"""The charged clock and the learning rate, on a scripted clock."""

from __future__ import annotations

from typing import Any

import pytest

from parity_tests.recipe_samples import small
from recipe.schedule import ChargedClock, learning_rate_multiplier, micro_batches_of
from recipe.train import decide


def clock(**changes: float) -> ChargedClock:
    values = {"started": 100.0, "budget": 60.0, "allowance": 30.0, "margin": 10.0, "reserve": 3.0} | changes
    values = {"save_factor": 1.5, "exit_seconds": 2.5} | values
    return ChargedClock(excluded_updates=5, **values)


def run(subject: ChargedClock, start: float, seconds: float, count: int) -> float:
    """`count` updates of equal length; returns the time after them."""
    for index in range(1, count + 1):
        subject.update_done(start + index * seconds)
    return start + count * seconds


def test_start_up_within_the_allowance_is_free() -> None:
    subject = clock()
    assert subject.charged(110.0) == 0.0
    now = run(subject, 100.0, 4.0, 5)  # 20 s, and 10 s of margin: all of the allowance
    assert subject.charged(now) == 0.0
    assert subject.charged(now + 7.0) == 7.0
    assert subject.remaining(now + 7.0) == 53.0


def test_start_up_beyond_the_allowance_is_charged() -> None:
    subject = clock()
    now = run(subject, 100.0, 5.0, 5)
    assert subject.charged(now) == 5.0
    assert subject.charged(now + 7.0) == 12.0


def test_a_start_up_that_does_not_end_is_charged_while_it_lasts() -> None:
    assert clock().charged(190.0) == 70.0
    assert clock().must_stop(190.0)


@pytest.mark.parametrize(("seconds", "expected"), [(0.5, 114), (5.0, 11), (20.0, 2)])
def test_the_last_update_leaves_the_reserve(seconds: float, expected: int) -> None:
    subject = clock()
    now = run(subject, 100.0, 1.0, 5)
    updates = 0
    subject.update_done(now := now + seconds)
    updates += 1
    while not subject.must_stop(now):
        subject.update_done(now := now + seconds)
        updates += 1
    assert subject.remaining(now) >= subject.reserve
    assert subject.remaining(now) - seconds < subject.reserve
    assert updates == expected


def test_one_long_stall_ends_the_run() -> None:
    subject = clock()
    now = run(subject, 100.0, 1.0, 5)
    subject.update_done(now + 1.0)
    assert not subject.must_stop(now + 1.0)
    subject.update_done(now + 31.0)  # 29 s left, the last update took 30
    assert subject.must_stop(now + 31.0)


def test_the_reserve_is_what_a_measured_save_asks_for_where_that_is_more() -> None:
    subject = clock()
    now = run(subject, 100.0, 1.0, 4)
    subject.save_done(now, now + 0.25)
    assert subject.reserve == 3.0  # 0.25 * 1.5 + 2.5 is less
    subject.save_done(now + 1.0, now + 3.0)
    assert subject.reserve == 5.5
    subject.save_done(now + 4.0, now + 4.25)
    assert subject.reserve == 5.5


def test_a_save_between_updates_is_charged_and_is_no_part_of_the_next_update() -> None:
    subject = clock()
    now = run(subject, 100.0, 1.0, 6)
    charged = subject.charged(now)
    subject.save_done(now, now + 8.0)
    subject.update_done(now + 9.0)
    assert subject.last_update_seconds == 1.0
    assert subject.charged(now + 9.0) == charged + 9.0


def test_progress_counts_the_time_that_can_be_used() -> None:
    subject = clock()
    now = run(subject, 100.0, 1.0, 5)
    assert subject.progress(now) == 0.0
    assert subject.progress(now + 28.5) == 0.5
    assert subject.progress(now + 57.0) == 1.0
    assert subject.progress(now + 99.0) == 1.0


def test_the_learning_rate_warms_up_stays_and_cools_down() -> None:
    config = small(warmup_fraction=0.1, warmup_start=0.2, cooldown_fraction=0.4, cooldown_end=0.0)
    points = [(0.0, 0.2), (0.05, 0.6), (0.1, 1.0), (0.5, 1.0), (0.6, 1.0), (0.8, 0.5), (1.0, 0.0)]
    for progress, expected in points:
        assert learning_rate_multiplier(config, progress) == pytest.approx(expected), progress


def test_without_phases_the_learning_rate_is_constant() -> None:
    config = small(warmup_fraction=0.0, cooldown_fraction=0.0)
    assert [learning_rate_multiplier(config, progress) for progress in (0.0, 0.5, 1.0)] == [1.0, 1.0, 1.0]


def test_the_batch_grows_over_its_share_of_the_progress_and_has_all_micro_batches_behind_it() -> None:
    config = small(micro_batches=4, batch_warmup_fraction=0.3, batch_warmup_start=1)
    points = [(0.0, 1), (0.09, 1), (0.11, 2), (0.21, 3), (0.299, 3), (0.3, 4), (1.0, 4)]
    assert [micro_batches_of(config, progress) for progress, _ in points] == [count for _, count in points]


@pytest.mark.parametrize(("knob", "value"), [("start", 2), ("start", 0), ("fraction", 1.5)])
def test_a_batch_that_cannot_grow_so_is_refused(knob: str, value: float) -> None:
    knobs: dict[str, Any] = {"micro_batches": 2, "batch_warmup_fraction": 0.5, f"batch_warmup_{knob}": value}
    with pytest.raises(ValueError, match=f"knob 'batch_warmup_{knob}' must be"):
        small(**knobs)


def test_a_number_of_steps_rules_the_schedule_but_never_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = clock()
    now = run(subject, 100.0, 1.0, 5)
    monkeypatch.setattr("recipe.train.time.monotonic", lambda: now + 28.5)
    assert decide(small(num_steps=10), subject, 5) == (0.5, 0.0)
    assert decide(small(num_steps=10), subject, 10) == (1.0, 1.0)
    assert decide(small(num_steps=0), subject, 5) == (0.5, 0.0)
    monkeypatch.setattr("recipe.train.time.monotonic", lambda: now + 59.0)
    assert decide(small(num_steps=10), subject, 5) == (0.5, 1.0)
