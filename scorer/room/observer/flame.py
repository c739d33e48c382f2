"""The flame of one update: where its time goes, by the program's calls that lead to each operator and kernel launch.

Time is cut at every border (an operator begins or ends, a kernel is launched, a backward begins), and each piece is
charged to one row, so that the rows add up to the update. What the recording itself takes is a row, too. On a device
that works on its own, each operator is waited for: its time is then the device's, and nothing overlaps.

A backward operator stands below the line that called backward, and there below the lines of the forward call whose
gradient it computes.
"""

from __future__ import annotations

import inspect
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from .origins import Origins

if TYPE_CHECKING:
    from .session import Session

BACKWARD, OPTIMIZER, DATA, COLLECTIVES, FORWARD, OTHER = (
    "backward", "optimizer", "data", "collectives", "forward", "other",
)  # fmt: skip
RECORDING = "recording"
_PROGRAM, _MODULE = "program", "module"
_COLLECTIVE = ("c10d::", "_c10d_functional::", "c10d_functional::")

clock = time.monotonic  # the real one: taken before the clock is replaced

Stack = tuple[tuple[int, int], ...]  # (id of a function's code, line) of each of the program's frames, outermost first
Key = tuple[str, Stack, str, str]  # phase, stack, operator, kernel


class Flame:
    """Records from `begin` to `end`. The session tells of phases, launches and of what is the observer's own."""

    def __init__(self, torch: Any, program: Any, session: Session) -> None:
        from torch.utils._python_dispatch import TorchDispatchMode

        flame = self

        class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
            @classmethod
            def ignore_compile_internals(cls) -> bool:  # else torch would not run what it has compiled
                return True

            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                kwargs = kwargs or {}
                if session.busy:
                    return func(*args, **kwargs)
                return flame._operator(func, args, kwargs, sys._getframe(1))

        self._program, self._session, self._origins = program, session, Origins(torch)
        self._mode: Any = Recorder()  # type: ignore[no-untyped-call]
        self._module_call = torch.nn.Module._call_impl.__code__
        device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
        self._wait = None if device is None else torch.accelerator.synchronize
        self._work: Any = torch.distributed.Work if torch.distributed.is_available() else None
        self._rows: dict[Key, list[Any]] = {}
        self._codes: dict[int, CodeType] = {}
        self._known: dict[int, str] = {}  # id of a code -> whose it is
        self._loaders: set[int] = set()  # ids of the codes of the program's generators around the kit's loader
        self._phases: list[str] = []
        self._inside: Key | None = None  # the operator or kernel that runs
        self._last_node = 0
        self._began = self._since = self.ended = 0.0
        self._thread = threading.get_ident()

    # -- the update ----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The update begins, in this thread."""
        if self._work is not None:
            self._watch_waiting()
        self._mode.__enter__()
        self._last_node = self._origins.number()
        self._began = self._since = clock()

    def end(self, frame: FrameType | None) -> None:
        """The update ends."""
        self.ended = clock()
        self._charge(self._around(frame), self.ended)
        self._mode.__exit__(None, None, None)
        if self._work is not None:
            self._work.wait = self._real_wait

    def told(self) -> dict[str, Any]:
        """What was recorded: the fields of a room.flames.Flame, but for the update."""
        frames: dict[tuple[int, int], int] = {}
        rows = [
            {
                "phase": phase,
                "stack": [frames.setdefault(place, len(frames)) for place in stack],
                "operator": operator,
                "kernel": kernel,
                "count": count,
                "seconds": seconds,
            }
            for (phase, stack, operator, kernel), (count, seconds) in self._rows.items()
        ]
        return {
            "seconds": self.ended - self._began,
            "frames": [self._frame(code, line) for code, line in frames],
            "rows": rows,
        }

    # -- what the session tells ----------------------------------------------------------------------------------

    def enter(self, phase: str, frame: FrameType | None) -> None:
        """What happens from now on belongs to a phase. `frame`: whoever called what begins."""
        if self._is_elsewhere():
            return
        now, own = clock(), self._around(frame)
        leads = FORWARD if phase == BACKWARD and own[0] == OTHER else own[0]  # a loss is made for its backward
        self._charge((leads, *own[1:]), now)
        if phase == DATA:
            asking = self._program.frame(frame)
            if asking is not None and asking.f_code.co_flags & inspect.CO_GENERATOR:
                self._loaders.add(id(asking.f_code))
        self._phases.append(phase)

    def leave(self, phase: str, frame: FrameType | None) -> None:
        """The phase ends; nothing where it began before the update did."""
        if self._phases[-1:] == [phase] and not self._is_elsewhere():
            self._charge(self._around(frame), clock())
            self._phases.pop()

    def _is_elsewhere(self) -> bool:
        """Whether a thread of the program's own runs beside the update, one that loads batches ahead, say."""
        return threading.get_ident() != self._thread and not self._session.in_backward

    @contextmanager
    def launching(self, kernel: str, called: float, frame: FrameType | None) -> Iterator[None]:
        """A kernel that `frame` launches runs; the observer knew of it at `called`, seconds of `clock`."""
        outside = self._inside
        around = self._around(frame)
        self._charge(around, called)
        self._note(around)
        self._inside = (*around[:3], kernel)
        self._mode.__exit__(None, None, None)  # what a kernel is made of is nobody's operator
        self._ours()
        try:
            yield
        finally:
            self._charge(self._inside, clock(), 1)
            self._mode.__enter__()
            self._inside = outside
            self._ours()

    def ours(self, started: float, frame: FrameType | None) -> None:
        """The observer worked since `started`, seconds of `clock`, for what `frame` called."""
        self._charge(self._around(frame), started)
        self._ours()

    # -- how it is charged ---------------------------------------------------------------------------------------

    def _operator(self, func: Any, args: Any, kwargs: Any, frame: FrameType) -> Any:
        called = clock()
        name = func._schema.name
        own = self._around(frame)
        self._charge(own, called)
        self._note(own)
        phase = COLLECTIVES if name.startswith(_COLLECTIVE) else own[0]
        self._inside = (phase, own[1], name, "")
        self._ours()
        try:
            result = func(*args, **kwargs)
            if self._wait is not None and phase != COLLECTIVES:
                self._wait()
            return result
        finally:
            self._charge(self._inside, clock(), 1)
            self._inside = None

    def _around(self, frame: FrameType | None) -> Key:
        """Whose time it is outside of operators; within one, the operator's."""
        if self._inside is not None:
            return self._inside
        stack, in_module = self._stack(frame)
        node, last = self._origins.number(), self._last_node
        self._last_node = node
        if self._phases:
            phase = self._phases[-1]
        elif any(code in self._loaders for code, _ in stack):
            phase = DATA
        else:
            phase = FORWARD if in_module or node != last else OTHER
        return phase, stack, "", ""

    def _note(self, own: Key) -> None:
        if not self._session.in_backward:
            self._origins.note(own[1])

    def _ours(self) -> None:
        self._charge((RECORDING, (), "", ""), clock())

    def _charge(self, key: Key, now: float, count: int = 0) -> None:
        row = self._rows.setdefault(key, [0, 0.0])
        row[0] += count
        row[1] += now - self._since
        self._since = now

    def _stack(self, frame: FrameType | None) -> tuple[Stack, bool]:
        """The program's frames at and above `frame`, and whether a module is being called."""
        backward = self._session.backward_frame
        below, in_module = self._walk(frame, backward)
        if backward is None:
            return below, in_module
        above, _ = self._walk(backward, None)  # autograd's threads begin below it
        made = self._origins.running()
        return (*above, *(() if made is None else _after_common(made, above)), *below), in_module

    def _walk(self, frame: FrameType | None, until: FrameType | None) -> tuple[Stack, bool]:
        """The program's frames from `frame` up to below `until`, outermost first."""
        places, in_module, known = [], False, self._known
        while frame is not None and frame is not until:
            code = frame.f_code
            number = id(code)
            kind = known.get(number)
            if kind is None:
                kind = known[number] = self._kind(code)
            if kind is _PROGRAM:
                places.append((number, frame.f_lineno))
            elif kind is _MODULE:
                in_module = True
            frame = frame.f_back
        places.reverse()
        return tuple(places), in_module

    def _kind(self, code: CodeType) -> str:
        self._codes[id(code)] = code  # kept alive, so that no other one gets its id
        if code is self._module_call:
            return _MODULE
        return _PROGRAM if self._program.relative(code.co_filename) is not None else OTHER

    def _frame(self, code: int, line: int) -> dict[str, Any]:
        known = self._codes[code]
        return {"file": self._program.relative(known.co_filename), "line": line, "function": known.co_qualname}

    def _watch_waiting(self) -> None:
        """Waiting for a collective is time of the collectives, whichever line does it."""
        real = self._real_wait = self._work.wait

        def wait(work: Any, *args: Any, **kwargs: Any) -> Any:
            self.enter(COLLECTIVES, sys._getframe(1))
            try:
                return real(work, *args, **kwargs)
            finally:
                self.leave(COLLECTIVES, sys._getframe(1))

        self._work.wait = wait


def _after_common(stack: Stack, other: Stack) -> Stack:
    """What of a stack lies below the functions that it shares with another one."""
    shared = 0
    while shared < min(len(stack), len(other)) and stack[shared][0] == other[shared][0]:
        shared += 1
    return stack[shared:]
