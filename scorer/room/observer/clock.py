"""The virtual clock: time as a function of the updates made, for the program alone.

Elapsed virtual time = updates whose optimizer has stepped x seconds per update + what the program slept. Time passes at
an update's first optimizer step, so that an interval measured around a whole update is never zero. Callers that are not
the program (the standard library, torch, the kit) keep the real clock.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Callable
from typing import Protocol

from .program import Program
from .settings import Settings

EPOCH = 1_073_741_824  # what time.time() says at the start: a power of two keeps the sums exact
BOOT = 1024  # what the other clocks say at the start: not zero, which some programs take for "not started"
STARTS = {"time": EPOCH, "monotonic": BOOT, "perf_counter": BOOT, "process_time": BOOT, "thread_time": BOOT}


class Ticker(Protocol):
    """Whoever knows how many updates have stepped."""

    @property
    def updates_stepped(self) -> int:
        """Updates whose first optimizer step has been made."""


def install(settings: Settings, program: Program, ticker: Ticker) -> None:
    """Replace the clocks of the time module, if a virtual clock is asked for."""
    if settings.seconds_per_update is None:
        return
    seconds_per_update = settings.seconds_per_update
    slept = 0.0
    real_sleep = time.sleep

    def elapsed() -> float:
        return ticker.updates_stepped * seconds_per_update + slept

    def is_program(depth: int) -> bool:
        return program.relative(sys._getframe(depth + 1).f_code.co_filename) is not None

    def seconds(name: str, start: int) -> Callable[[], float]:
        real = getattr(time, name)

        @functools.wraps(real)
        def read() -> float:
            return start + elapsed() if is_program(1) else real()

        return read

    def nanoseconds(name: str, start: int) -> Callable[[], int]:
        real = getattr(time, name)

        @functools.wraps(real)
        def read() -> int:
            return start * 10**9 + round(elapsed() * 1e9) if is_program(1) else real()

        return read

    real_gettime, real_gettime_ns = time.clock_gettime, time.clock_gettime_ns

    @functools.wraps(real_gettime)
    def gettime(clock: int, /) -> float:
        return _start_of(clock) + elapsed() if is_program(1) else real_gettime(clock)

    @functools.wraps(real_gettime_ns)
    def gettime_ns(clock: int, /) -> int:
        return _start_of(clock) * 10**9 + round(elapsed() * 1e9) if is_program(1) else real_gettime_ns(clock)

    time.clock_gettime, time.clock_gettime_ns = gettime, gettime_ns
    for name, start in STARTS.items():
        setattr(time, name, seconds(name, start))
        setattr(time, f"{name}_ns", nanoseconds(f"{name}_ns", start))

    @functools.wraps(real_sleep)
    def sleep(seconds: float, /) -> None:
        nonlocal slept
        if not is_program(1) or threading.current_thread() is not threading.main_thread():
            real_sleep(seconds)
        else:
            real_sleep(min(seconds, 0))  # raises what the real one raises for a negative or wrong argument
            slept += seconds

    setattr(time, "sleep", sleep)  # noqa: B010 (to mypy the two have different types)


def _start_of(clock: int) -> int:
    return EPOCH if clock in (time.CLOCK_REALTIME, time.CLOCK_TAI) else BOOT
