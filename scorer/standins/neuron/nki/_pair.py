"""The two cores of LNC 2: one runs at a time, and they hand over where they meet.

Core 0 runs on the caller's thread. A kernel whose cores never meet needs nothing else: core 1 runs after it on the same
thread. At the first instruction for which a core has to wait for the other one, core 1 gets a thread of its own, and
from then on each runs until it waits or ends. So the order is the same every time, no instruction needs a lock, and
what the cores do to shared memory between two meetings can be checked against both orders.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ._core import Launch
from ._errors import refuse


@dataclass(frozen=True)
class Meeting:
    """An instruction for which a core waits for the other one: what both must agree on, and what each brings."""

    instruction: str
    agreed: Any
    brings: Any
    file: str
    line: int

    def __str__(self) -> str:
        return f"nki.isa.{self.instruction}({self.agreed}) at {self.file}:{self.line}"


class _Abandoned(BaseException):
    """Unwinds a core whose partner failed."""


class Pair:
    """Runs a function once per core."""

    def __init__(self, launch: Launch, function: Callable[[int], Any]) -> None:
        self._launch = launch
        self._function = function
        self._turns = threading.Semaphore(0), threading.Semaphore(0)
        self._waiting: list[Meeting | None] = [None, None]
        self._last: list[Meeting | None] = [None, None]
        self._ended = [False, False]
        self._thread: threading.Thread | None = None
        self._over = threading.Event()  # core 1 has ended
        self._results: list[Any] = [None, None]
        self._error: BaseException | None = None

    def run(self) -> list[Any]:
        """What the function returns for core 0 and for core 1. The first error of either ends both."""
        try:
            self._run(0)
            if self._thread is not None:
                self._over.wait()
            elif self._error is None:
                self._run(1)
        except BaseException as error:  # an interrupt of the caller: core 1 ends where it would meet core 0 next
            if self._error is None:
                self._error = error
            self._ended[0] = True
            self._turns[1].release()
            if self._thread is not None:
                self._over.wait()  # a join that was interrupted would be done at once the next time
        if self._thread is not None:
            self._thread.join()
        first, self._error = self._error, None
        if first is not None:
            try:
                raise first
            finally:
                del first  # or its traceback would keep the tiles of the kernel alive
        return self._results

    def meet(self, core: int, meeting: Meeting, together: Callable[[Meeting, Meeting], None]) -> None:
        """Waits until the other core is at the same instruction; whoever comes last does `together(mine, yours)`.

        The one who comes last goes on first. Refuses, naming both places, if the other core is at another instruction
        or has ended.
        """
        other = 1 - core
        self._check_partner(core, meeting)
        theirs = self._waiting[other]
        self._last[core] = meeting
        if theirs is not None:
            if (theirs.instruction, theirs.agreed) != (meeting.instruction, meeting.agreed):
                refuse(
                    f"core {core} is here with {meeting.agreed}, core {other} waits at {theirs}; both cores must have "
                    "the same control flow"
                )
            together(meeting, theirs)
            self._waiting[other] = None
            return
        self._waiting[core] = meeting
        self._wake(other)
        self._turns[core].acquire()
        self._launch.running = core
        met = self._waiting[core] is None
        self._waiting[core] = None
        if self._error is not None:
            raise _Abandoned
        if not met:
            self._check_partner(core, meeting)

    def _check_partner(self, core: int, meeting: Meeting) -> None:
        if self._error is not None:
            raise _Abandoned
        other = 1 - core
        if self._ended[other]:
            last = self._last[other]
            where = "without having waited once" if last is None else f"and waited last at {last}"
            refuse(
                f"deadlock: core {core} waits here for core {other}, which has ended, {where}; both cores must have "
                "the same control flow"
            )

    def _wake(self, core: int) -> None:
        if core == 1 and self._thread is None:
            context = contextvars.copy_context()
            self._thread = threading.Thread(target=context.run, args=(self._run, 1), name="nki core 1", daemon=True)
            self._thread.start()
        else:
            self._turns[core].release()

    def _run(self, core: int) -> None:
        self._launch.running = core
        try:
            self._results[core] = self._function(core)
        except _Abandoned:
            pass
        except BaseException as error:  # whatever it is, the caller's thread raises it once both cores have ended
            if self._error is None:
                self._error = error
                self._launch.failed = core
        finally:
            self._ended[core] = True
            self._turns[1 - core].release()
            if core == 1:
                self._over.set()
