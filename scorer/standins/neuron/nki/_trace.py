"""What a launch does, instruction by instruction, for whoever asks.

    with tracing(recorder):
        kernel(x)

While that block is open, each instruction of a kernel is told to the recorder twice: before it runs and after. Where
all instructions pass is the interpreter itself: a profiling hook is set on the threads that run cores, and looks for
the functions of `nki.isa` by their code. So nothing of an instruction has to be written for it, ones that are added
later are traced too, and a launch that nobody asks about costs one comparison per core.

An instruction that other instructions make up (`activation_reduce`, the functions of `nki.language`) is traced once:
the outermost function of `nki.isa` counts, at the kernel's line.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Protocol

from . import _core, _registers, isa
from ._core import Core
from ._indirect import IndirectTensor
from ._tensor import NkiTensor

_PACKAGE = __name__.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction that runs: its name in `nki.isa`, the core, the kernel's line, and what it was given, by the
    names of its parameters.
    """

    name: str
    core: Core
    file: str
    line: int
    given: dict[str, Any]

    def operands(self) -> Iterator[tuple[str, NkiTensor]]:
        """Every tensor that it was given, with its parameter; those of a list (`srcs`) one by one.

        Of one with a run-time address the tensor that holds the address too, as "index of src".
        """
        for parameter, value in self.given.items():
            for one in value if isinstance(value, list | tuple) else (value,):
                if isinstance(one, NkiTensor):
                    yield parameter, one
                if isinstance(one, IndirectTensor) and isinstance(one._index, NkiTensor):
                    yield f"index of {parameter}", one._index


class Recorder(Protocol):
    """Who is told."""

    def before(self, step: Step) -> None:
        """The instruction is about to run."""

    def after(self, step: Step, handle: Any) -> None:
        """It has run and returns `handle`. One that was refused has not, and is not told."""


def is_written(parameter: str) -> bool:
    """Whether an instruction writes what it is given by this name. What it also reads makes no difference to order.

    NKI's names: `dst`, `dsts`, `dst_idx`, `val_dst`, `idx_dst`, `reduce_res`.
    """
    return parameter.startswith("dst") or parameter.endswith("_dst") or parameter == "reduce_res"


@contextmanager
def tracing(recorder: Recorder) -> Iterator[None]:
    """Tells `recorder` of every instruction of every launch, on whatever thread, until the block ends.

    Raises RuntimeError inside another such block.
    """
    if _core.watcher is not None:
        raise RuntimeError("launches are being traced already; end that block first")
    _core.watcher = _Watcher(recorder).core_changes
    try:
        yield
    finally:
        _core.watcher = None


def instructions() -> dict[str, Any]:
    """The functions of `nki.isa` that are instructions, by name: all that take the label `name`, and the registers'."""
    return {
        name: function
        for name in isa.__all__
        if (code := getattr(function := getattr(isa, name), "__code__", None)) is not None
        and ("name" in code.co_varnames[: code.co_argcount] or _returns_nothing(function))
    }


def _returns_nothing(function: Any) -> bool:
    """Whether it is one that moves numbers between registers and tensors: it has no label, and hands back no handle."""
    return bool(function.__module__ == _registers.__name__)


class _Watcher:
    """Sets and removes the hook as cores begin and end on a thread."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        known = instructions()
        self._names = {function.__code__: name for name, function in known.items()}
        self._silent = {name for name, function in known.items() if _returns_nothing(function)}
        self._threads = threading.local()

    def core_changes(self, core: Core | None) -> None:
        """A thread starts to run `core`, or (None) has ended to."""
        local = self._threads
        if getattr(local, "replaced", None) is None:
            local.replaced = (sys.getprofile(),)
        if core is None:
            sys.setprofile(local.replaced[0])
            local.replaced = None
        else:
            sys.setprofile(self._hook(core))

    def _hook(self, core: Core) -> Any:
        names, silent, recorder = self._names, self._silent, self._recorder
        running: FrameType | None = None
        step: Step | None = None

        def told(frame: FrameType, event: str, result: Any) -> None:
            nonlocal running, step
            if running is None:
                if event == "call" and frame.f_code in names:
                    running, step = frame, _step(names[frame.f_code], core, frame)
                    recorder.before(step)
            elif frame is running and event == "return":
                ended, running, step = step, None, None
                if ended is not None and (result is not None or ended.name in silent):
                    recorder.after(ended, result)

        return told


def _step(name: str, core: Core, frame: FrameType) -> Step:
    code = frame.f_code
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    values = frame.f_locals
    given = {parameter: values[parameter] for parameter in parameters}
    caller = frame.f_back
    while caller is not None and _is_ours(caller):
        caller = caller.f_back
    if caller is None:
        return Step(name, core, "", 0, given)
    return Step(name, core, caller.f_code.co_filename, caller.f_lineno, given)


def _is_ours(frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__", "")
    return isinstance(module, str) and module.partition(".")[0] == _PACKAGE
