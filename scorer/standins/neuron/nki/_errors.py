"""Errors: what the checks raise, and how a check learns which kernel line it was tripped by.

A check knows the operand, the shape and the limit, not the kernel that called it. So it raises with those alone, which
costs the fast path nothing, and `Kernel.__call__` adds instruction and source line from the traceback (`locate`).
"""

from __future__ import annotations

import itertools
import operator
import re
import reprlib
import sys
from collections.abc import Callable, Iterable, Mapping
from types import FrameType, TracebackType
from typing import Any, NoReturn

_PACKAGE = __name__.rpartition(".")[0]


class NkiValidationError(Exception):
    """A kernel, or the way it was launched, breaks a rule of NKI or a limit of Trn2.

    Attributes: `instruction` (`"nki.isa.activation"`, None outside any), `operand` (parameter name, None if it is not
    about one), `kernel` (name of the launched kernel), `core` (0 or 1 under LNC 2), `file` and `line` (of the kernel's
    source), each None until it is known.
    """

    def __init__(self, message: str, operand: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.operand = operand
        self.instruction: str | None = None
        self.kernel: str | None = None
        self.core: int | None = None
        self.file: str | None = None
        self.line: int | None = None

    def __str__(self) -> str:
        core = "" if self.core is None else f", core {self.core}"
        place = None if self.kernel is None else f"{self.kernel}{core} ({self.file}:{self.line})"
        parts = [place, self.instruction, self.operand, self.message]
        return ": ".join(part for part in parts if part is not None)


class AbsentNameError(NkiValidationError, AttributeError):
    """A name that not every NKI from 0.5 to 0.7 has, or none any more. `hasattr` sees that it is absent."""


class MistypedError(NkiValidationError, TypeError, ValueError):
    """A function of NKI was given a value of a kind that it cannot use; says what Python said, and where."""


def refuse(message: str, operand: str | None = None) -> NoReturn:
    """Raises `NkiValidationError`. Kernel and source line are added on the way out, see `locate`."""
    raise NkiValidationError(message, operand)


def locate(
    error: NkiValidationError, traceback: TracebackType | None, kernel: Callable[..., Any], core: int | None = None
) -> None:
    """Writes onto `error` the innermost kernel line and the instruction below it, both read from `traceback`; what is
    wrong with the launch or its results has the line where the kernel is defined.

    An error that was located already (an inlined kernel's) is left alone.
    """
    if error.kernel is not None:
        return
    error.kernel = kernel.__name__
    error.core = core
    caller: tuple[str, int] | None = None
    instruction: str | None = None
    while traceback is not None:
        frame = traceback.tb_frame
        if ours(frame):
            if instruction is None and caller is not None:
                instruction = _public_name(frame)
        elif not _is_library(frame):
            caller, instruction = (frame.f_code.co_filename, traceback.tb_lineno), None
        traceback = traceback.tb_next
    code = getattr(kernel, "__code__", None)
    if caller is None and code is not None:
        caller = code.co_filename, code.co_firstlineno
    if caller is not None:
        error.file, error.line = caller
    if error.instruction is None:
        error.instruction = instruction


def kernel_line() -> tuple[str, int]:
    """The line of the kernel, as (file, line), that called what runs now."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and ours(frame):
        frame = frame.f_back
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


_BINDING = re.compile(
    r"^(?P<function>(?:NkiTensor\.)?\w+)\(\) (?:got an unexpected keyword argument|missing \d+|takes \d+|got multiple)"
)


def from_binding(
    error: TypeError, traceback: TracebackType | None, functions: Mapping[str, str]
) -> NkiValidationError | None:
    """The validation error for a call that does not fit an instruction's signature (`mask=`, `dtype=`, a typo), or that
    of one of the other `functions`, which have their public names by those in Python.

    Python raises such a `TypeError` in the caller's own frame, before the instruction runs. Any other one gives None.
    """
    match = _BINDING.match(str(error))
    if match is None or match["function"] not in functions:
        return None
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None or ours(traceback.tb_frame):
        return None
    name = functions[match["function"]]
    typed = ", no dtype=" if name.startswith("nki.isa.") else ""
    found = NkiValidationError(
        f"{error}; it takes only the parameters that every NKI from 0.5 to 0.7 has (no mask={typed}): "
        "slice the operands" + (typed and ", or allocate dst with the dtype that you want")
    )
    found.instruction = name
    return found


def from_inside(error: Exception, traceback: TracebackType | None) -> NkiValidationError | None:
    """The validation error for one that Python raised inside a function of NKI that a kernel called: the function was
    given what it cannot use. None for an error of the kernel itself.
    """
    frames = []
    while traceback is not None:
        frames.append(traceback.tb_frame)
        traceback = traceback.tb_next
    while frames and _is_library(frames[-1]):
        frames.pop()
    called = None
    for outer, inner in itertools.pairwise(frames):
        if ours(inner) and not ours(outer):
            called = inner
    if called is None or not ours(frames[-1]):
        return None
    if called.f_code.co_name == "__getattr__":
        return AbsentNameError(str(error))
    names = called.f_code.co_varnames[: called.f_code.co_argcount + called.f_code.co_kwonlyargcount]
    values = {name: called.f_locals.get(name) for name in names if name != "self"}
    given = ", ".join(f"{name}={_short.repr(value)}" for name, value in values.items() if value is not None)
    return MistypedError(f"{error}; given {given or 'nothing'}")


_short = reprlib.Repr()
_short.maxother = 100  # a tensor is told whole


def ints(values: Iterable[Any], operand: str) -> tuple[int, ...]:
    """`values` as ints. A float is refused, a whole one too: it comes from `/` where `//` was meant."""
    try:
        return tuple(map(operator.index, values))
    except TypeError as error:
        raise MistypedError(f"{_short.repr(values)}: expected ints ({error})", operand) from error


def _is_library(frame: FrameType) -> bool:
    """Whether the frame is one of a library that functions of NKI compute with."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in ("numpy", "ml_dtypes")


def ours(frame: FrameType) -> bool:
    """Whether the frame is one of the stand-in's own functions."""
    name = frame.f_globals.get("__name__", "")
    return isinstance(name, str) and (name == _PACKAGE or name.startswith(_PACKAGE + "."))


def _public_name(frame: FrameType) -> str | None:
    if frame.f_code.co_name == "__getattr__":
        return None
    module = frame.f_globals["__name__"].removeprefix(_PACKAGE)
    name = frame.f_code.co_qualname
    if name == "Operator.__call__":
        return f"nki.language.{frame.f_locals['self'].function or frame.f_locals['self'].name}"
    if module == ".isa" or module.startswith("._isa"):
        return f"nki.isa.{name}"
    if module == ".collectives":
        return f"nki.collectives.{name}"
    return name if "." in name else f"nki.language.{name.removesuffix('_')}"
