"""The virtual clock: time as a function of the updates made, for the program alone.

Elapsed virtual time = seconds of the updates whose optimizer has stepped + what the program slept. Time passes at an
update's first optimizer step, so that an interval measured around a whole update is never zero. Callers that are not
the program (the standard library, torch, the kit) keep the real clock.

On a scripted clock (receipts.Timeline) single updates have lengths of their own, and time passes in saves and
evaluations too. There the ranks agree as they do in a program whose ranks wait for each other in every update: at its
optimizer step each rank takes over what has passed, by then, on the rank that is furthest ahead.
"""

from __future__ import annotations

import atexit
import datetime
import functools
import gc
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from .journal import Journal
from .program import Program
from .settings import Settings

EPOCH = 1_073_741_824  # what time.time() says at the start: a power of two keeps the sums exact
BOOT = 1024  # what the other clocks say at the start: not zero, which some programs take for "not started"
STARTS = {"time": EPOCH, "monotonic": BOOT, "perf_counter": BOOT, "process_time": BOOT, "thread_time": BOOT}
BROKEN_DOWN = {"localtime": 0, "gmtime": 0, "ctime": 0, "asctime": 0, "strftime": 1}
"""Functions that take now where they are given no time -> by which argument they are given one."""


class Ticker(Protocol):
    """Whoever knows how many updates have stepped, and tells a scripted clock of what happens."""

    clock: Any

    @property
    def updates_stepped(self) -> int:
        """Updates whose first optimizer step has been made."""


class Elapsed:
    """Virtual seconds since the launch: so many a step, and what was slept."""

    def __init__(self, ticker: Ticker, seconds_per_update: float) -> None:
        self._ticker = ticker
        self._seconds_per_update = seconds_per_update
        self._aside = 0.0

    def seconds(self) -> float:
        """Elapsed time, agreed among the ranks."""
        return self._ticker.updates_stepped * self._seconds_per_update + self._aside

    def read(self, _site: Callable[[], dict[str, Any] | None]) -> float:
        """Elapsed time as the program reads it."""
        return self.seconds()

    def pass_aside(self, seconds: float) -> None:
        """Time that passes beside the updates."""
        self._aside += seconds


class Scripted(Elapsed):
    """A clock that follows a timeline, keeps the ranks together, and notes who reads it."""

    def __init__(self, ticker: Ticker, settings: Settings, timeline: dict[str, Any], journal: Journal) -> None:
        assert settings.seconds_per_update is not None
        super().__init__(ticker, settings.seconds_per_update)
        self._timeline, self._journal = timeline, journal
        lengths: list[tuple[int, float]] = timeline["lengths"]
        self._longer = [(update, length - settings.seconds_per_update) for update, length in lengths]
        self._rank = int(os.environ["RANK"])
        self._records = Path(settings.records)
        own = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._shared = os.open(self._records / f"clock-{self._rank}", own, 0o644)
        self._reads: dict[tuple[str, int], None] = {}
        self._reads_at_save: list[dict[str, Any]] | None = None
        journal.write("clock", timeline=timeline["name"])
        self.pass_aside(timeline["before_seconds"])
        atexit.register(self._end)

    def seconds(self) -> float:
        """Elapsed time, agreed among the ranks."""
        made = self._ticker.updates_stepped
        return super().seconds() + sum(longer for update, longer in self._longer if update < made)

    def read(self, site: Callable[[], dict[str, Any] | None]) -> float:
        """Elapsed time as the program reads it."""
        if (found := site()) is not None:
            key = found["file"], found["line"]
            self._reads.pop(key, None)
            self._reads[key] = None
        is_ahead = self._rank % 2 == 1 and self._ticker.updates_stepped % 2 == 0
        ahead: float = self._timeline["skew_seconds"] if is_ahead else 0.0
        return self.seconds() + ahead

    def pass_aside(self, seconds: float) -> None:
        """Time that passes beside the updates, told to the other ranks."""
        super().pass_aside(seconds)
        os.write(self._shared, f"{self._ticker.updates_stepped} {self._aside.hex()}\n".encode())

    def ticked(self) -> None:
        """An update's first optimizer step has been made, for which the ranks waited for each other."""
        made = self._ticker.updates_stepped
        for path in self._records.glob("clock-*"):
            entries = [line.split() for line in path.read_text().splitlines()]
            self._aside = max([self._aside, *(float.fromhex(aside) for at, aside in entries if int(at) < made)])
        os.write(self._shared, f"{made} {self._aside.hex()}\n".encode())
        self._journal.write("tick", update=made - 1, seconds=self.seconds(), reads=self._told())
        self._reads, self._reads_at_save = {}, None

    def saved(self) -> None:
        """A file has been saved."""
        if self._reads_at_save is None:
            self._reads_at_save = self._told()
        self.pass_aside(self._timeline["save_seconds"])

    def evaluated(self) -> None:
        """The kit has evaluated a model."""
        self.pass_aside(self._timeline["evaluation_seconds"])

    def is_over(self) -> bool:
        """Whether the run is to be ended."""
        limit: float | None = self._timeline["limit_seconds"]
        return limit is not None and self.seconds() >= limit

    def _told(self) -> list[dict[str, Any]]:
        return [{"file": file, "line": line} for file, line in self._reads]

    def _end(self) -> None:
        reads = self._told() if self._reads_at_save is None else self._reads_at_save
        self._journal.write("clock-end", seconds=self.seconds(), reads=reads)


def install(settings: Settings, program: Program, ticker: Ticker, journal: Journal) -> None:
    """Replace the clocks of the time and datetime modules, if a virtual clock is asked for."""
    if settings.seconds_per_update is None:
        return
    passed: Elapsed
    if settings.timeline is None:
        passed = Elapsed(ticker, settings.seconds_per_update)
    else:
        passed = ticker.clock = Scripted(ticker, settings, settings.timeline, journal)

    def caller() -> Any:
        """The frame that called the replaced function, where it is the program's; else None."""
        frame = sys._getframe(2)
        return frame if program.relative(frame.f_code.co_filename) is not None else None

    def elapsed(frame: Any) -> float:
        return passed.read(lambda: program.site(frame))

    def seconds(name: str, start: int) -> Callable[[], float]:
        real = getattr(time, name)

        @functools.wraps(real)
        def read() -> float:
            return start + elapsed(frame) if (frame := caller()) is not None else real()

        return read

    def nanoseconds(name: str, start: int) -> Callable[[], int]:
        real = getattr(time, name)

        @functools.wraps(real)
        def read() -> int:
            return start * 10**9 + round(elapsed(frame) * 1e9) if (frame := caller()) is not None else real()

        return read

    real_gettime, real_gettime_ns = time.clock_gettime, time.clock_gettime_ns

    @functools.wraps(real_gettime)
    def gettime(clock: int, /) -> float:
        return _start_of(clock) + elapsed(frame) if (frame := caller()) is not None else real_gettime(clock)

    @functools.wraps(real_gettime_ns)
    def gettime_ns(clock: int, /) -> int:
        if (frame := caller()) is None:
            return real_gettime_ns(clock)
        return _start_of(clock) * 10**9 + round(elapsed(frame) * 1e9)

    time.clock_gettime, time.clock_gettime_ns = gettime, gettime_ns
    for name, start in STARTS.items():
        setattr(time, name, seconds(name, start))
        setattr(time, f"{name}_ns", nanoseconds(f"{name}_ns", start))

    def broken_down(name: str, position: int) -> Callable[..., Any]:
        real = getattr(time, name)
        now: Callable[[float], Any] = time.localtime if name in ("asctime", "strftime") else float

        @functools.wraps(real)
        def read(*given: Any) -> Any:
            absent = len(given) == position or (position == 0 and given == (None,) and name != "asctime")
            frame = caller() if absent else None
            return real(*given[:position], now(EPOCH + elapsed(frame))) if frame is not None else real(*given)

        return read

    for name, position in BROKEN_DOWN.items():
        setattr(time, name, broken_down(name, position))

    real_now, real_utcnow = datetime.datetime.now, datetime.datetime.utcnow

    def now(kind: type[datetime.datetime], /, tz: datetime.tzinfo | None = None) -> datetime.datetime:
        frame = caller()
        if frame is None:
            return real_now(tz) if kind is datetime.datetime else kind.fromtimestamp(real_time(), tz)
        return kind.fromtimestamp(EPOCH + elapsed(frame), tz)

    def utcnow(kind: type[datetime.datetime], /) -> datetime.datetime:
        frame = caller()
        if frame is None and kind is datetime.datetime:
            return real_utcnow()
        at = real_time() if frame is None else EPOCH + elapsed(frame)
        return kind.fromtimestamp(at, datetime.UTC).replace(tzinfo=None)

    # The class itself stays, as programs compare, pickle and inherit it; it is C's, and takes no assignment.
    # datetime.today and date.today ask time.time, in the name of whoever called them.
    own: dict[str, Any] = gc.get_referents(datetime.datetime.__dict__)[0]
    own["now"], own["utcnow"] = classmethod(now), classmethod(utcnow)
    sys._clear_type_cache()

    real_sleep = time.sleep

    @functools.wraps(real_sleep)
    def sleep(seconds: float, /) -> None:
        if caller() is None or threading.current_thread() is not threading.main_thread():
            real_sleep(seconds)
        else:
            real_sleep(min(seconds, 0))  # raises what the real one raises for a negative or wrong argument
            passed.pass_aside(seconds)

    setattr(time, "sleep", sleep)  # noqa: B010 (to mypy the two have different types)


real_time = time.time


def _start_of(clock: int) -> int:
    return EPOCH if clock in (time.CLOCK_REALTIME, time.CLOCK_TAI) else BOOT
