"""Tiles that a kernel still holds in a variable but never looks at again: NKI's allocator gives their place to others.

Python keeps what a variable refers to until the variable is written anew or its function ends. So where memory is
short, the variables of the kernel's functions that will be written before they are read, on every way from here, are
set to None, which nothing can notice.
"""

from __future__ import annotations

import ctypes
import dis
import functools
import inspect
import re
import sys
from types import CodeType, FrameType

from ._errors import ours

_LAUNCH = f"{__name__.rpartition('.')[0]}._launch"
_NO_NEXT = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"}  # unconditional jumps besides
_FAST = re.compile("(LOAD|STORE|DELETE)_FAST")


def release_dead() -> None:
    """Lets go of what the functions of the running kernel, the innermost first, will not read again."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") != _LAUNCH:
        if not ours(frame) and frame.f_code.co_flags & inspect.CO_OPTIMIZED:  # a function, no module
            _forget(frame, _dead(frame.f_code).get(frame.f_lasti, ()))
        frame = frame.f_back


def _forget(frame: FrameType, names: tuple[str, ...]) -> None:
    variables = frame.f_locals
    for name in names:
        if variables.get(name) is not None:
            variables[name] = None
    if sys.version_info < (3, 13):  # f_locals is a copy, which has to be written back, and else keeps all of it alive
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
        variables.clear()


@functools.lru_cache(maxsize=256)
def _dead(code: CodeType) -> dict[int, tuple[str, ...]]:
    """For each offset, of an instruction or inside it, the local variables that nothing reads after it before they are
    written.

    Backward dataflow over the bytecode; any instruction of a `try` or `with` may go on at its handler. Variables that
    inner functions share are left alone.
    """
    bytecode = dis.Bytecode(code)
    steps = list(bytecode)
    position = {step.offset: index for index, step in enumerate(steps)}
    follow = [_follow(step, index, position) for index, step in enumerate(steps)]
    for entry in bytecode.exception_entries:  # type: ignore[attr-defined]
        for index, step in enumerate(steps):
            if entry.start <= step.offset < entry.end:
                follow[index].append(position[entry.target])
    before: list[frozenset[str]] = [frozenset()] * len(steps)
    after = list(before)
    changed = True
    while changed:
        changed = False
        for index in range(len(steps) - 1, -1, -1):
            live = frozenset().union(*(before[then] for then in follow[index]))
            after[index] = live
            for kind, name in reversed(_uses(steps[index])):
                live = live | {name} if kind == "LOAD" else live - {name}
            if live != before[index]:
                before[index] = live
                changed = True
    own = set(code.co_varnames) - set(code.co_cellvars)
    ends = [*(step.offset for step in steps[1:]), len(code.co_code)]  # an instruction's caches lie behind it
    return {
        offset: tuple(sorted(own - live))
        for step, end, live in zip(steps, ends, after, strict=True)
        for offset in range(step.offset, end, 2)
    }


def _follow(step: dis.Instruction, index: int, position: dict[int, int]) -> list[int]:
    jumps = step.opcode in dis.hasjrel or step.opcode in dis.hasjabs
    found = [position[step.argval]] if jumps else []
    unconditional = jumps and re.match("JUMP_(FORWARD|BACKWARD|ABSOLUTE|NO_INTERRUPT)", step.opname) is not None
    if not unconditional and step.opname not in _NO_NEXT:
        found.append(index + 1)
    return found


def _uses(step: dis.Instruction) -> list[tuple[str, str]]:
    """What an instruction does to local variables, in order: ("LOAD", name), ("STORE", name) or ("DELETE", name)."""
    kinds = _FAST.findall(step.opname)
    names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
    return list(zip(kinds, names, strict=True)) if kinds else []
