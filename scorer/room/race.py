"""A race: two programs run, the same number of updates each, and what each of their updates took.

Together they make their updates in turns, so that never both of them compute: what slows the machine down slows both,
and what remains between an update of the one and that of the other beside it is the programs' own difference. On a
device that one program holds alone they run one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from scorer.room.lane import LaneSpec
from scorer.room.receipts import Receipt
from scorer.room.turns import COUNT, COUNT_PROCESSOR, GO, STOP, Taken, Turns

STALLED_SECONDS = 60.0  # without a word from a rank that may make an update

Run = Callable[[LaneSpec], Receipt]


@dataclass(frozen=True)
class Course:
    """What is run: so many updates before the first measured one, then so many counted and so many timed ones."""

    start_up: int
    start_up_seconds: float  # at most
    counted: int
    by_processor: bool  # whether the counted updates' times are of the processor, not on the wall
    timed: int
    together: bool


@dataclass(frozen=True)
class Race:
    """The receipts of both programs, and their timed updates; fewer than wanted where a program ended or stalled."""

    receipts: tuple[Receipt, Receipt]
    timed: tuple[list[Taken], list[Taken]]


def race(run: Run, specs: tuple[LaneSpec, LaneSpec], course: Course, second_goes_first: bool) -> Race:
    """Run both over the course; `run` runs one lane. Raises what it raises."""
    sides = Turns(course.start_up), Turns(course.start_up)
    timed: tuple[list[Taken], list[Taken]] = [], []
    order = (1, 0) if second_goes_first else (0, 1)
    with ThreadPoolExecutor(2, thread_name_prefix="race") as pool:

        def start(side: int) -> None:
            lanes[side] = pool.submit(_lane, run, specs[side], sides[side])

        lanes: dict[int, Future[Receipt]] = {}
        try:
            if course.together:
                for side in order:
                    start(side)
                _run(order, sides, course, timed)
            else:
                for side in order:
                    start(side)
                    _run((side,), sides, course, timed)
                    sides[side].give(STOP)
                    lanes[side].result()
        finally:
            for turns in sides:
                turns.give(STOP)
        return Race((lanes[0].result(), lanes[1].result()), timed)


def _lane(run: Run, spec: LaneSpec, turns: Turns) -> Receipt:
    try:
        return run(replace(spec, turns=turns))
    finally:
        turns.close()  # a room that could not be made never opened them


def _run(order: Sequence[int], sides: tuple[Turns, Turns], course: Course, timed: tuple[list[Taken], ...]) -> None:
    """All turns of the sides named; ends early where one has no more updates."""
    if any(not sides[side].taken(1, course.start_up_seconds) for side in order):
        return
    count = COUNT_PROCESSOR if course.by_processor else COUNT
    for side in order:
        sides[side].give(count * course.counted)
        if len(sides[side].taken(course.counted, STALLED_SECONDS)) < course.counted:
            return
    for _ in range(course.timed):
        for side in order:
            sides[side].give(GO)
            made = sides[side].taken(1, STALLED_SECONDS)
            if not made:
                return
            timed[side].extend(made)
        order = order[::-1]  # so that a steady drift of the machine's speed favours nobody
