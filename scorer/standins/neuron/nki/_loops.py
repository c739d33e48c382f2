"""Loops that run on the device, and the order of instructions.

The body of a device loop is compiled once; here it runs once per iteration, with the values it would have. State
lives in tensors allocated outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

import numpy as np

from ._core import Core, current
from ._dtypes import int32
from ._errors import refuse
from ._registers import NkiScalar, VirtualRegister
from ._scalars import RuntimeScalar
from ._versions import since

_UNROLL = "use a Python loop over range, which is unrolled"
in_order: WeakSet[Core] = WeakSet()
"""Cores inside `no_reorder`."""


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any], Any], step: int = 1) -> None:
    """Calls `body_fun(i)` for i = lower, lower + step, ... below upper: a hardware loop. NKI 0.6.

    Bounds are ints, registers or int32 scalars. `i` is a register if a bound is one, else an `NkiScalar`, passed by
    value: writing it has no effect on the loop. It serves as `scalar_offset=`. The body returns nothing.
    """
    _check("fori_loop")
    if type(step) is not int or step < 1:
        refuse(f"{step!r}, expected a positive int", "step")
    start, stop = _bound(lower, "lower"), _bound(upper, "upper")
    by_register = isinstance(lower, VirtualRegister) or isinstance(upper, VirtualRegister)
    for position in range(start, stop, step):
        result = body_fun(VirtualRegister(position) if by_register else NkiScalar(position))
        if result is not None:
            refuse(f"the body returned {result!r}; it returns None, its state lives in tensors outside", "body_fun")


def while_loop(init: Any, body_fun: Callable[[Any], Any]) -> None:
    """While the condition is not 0, calls `body_fun(condition)`, which returns the next condition. NKI 0.6.

    `init` and what the body returns are registers (or int32 scalars).
    """
    _check("while_loop")
    condition = init
    while True:
        if not isinstance(condition, RuntimeScalar):
            refuse(f"the condition is {condition!r}; expected a register, see register_alloc", "body_fun")
        value = _bound(condition, "init")
        if value == 0:
            return
        condition = body_fun(VirtualRegister(value) if isinstance(condition, VirtualRegister) else NkiScalar(value))


@contextmanager
def no_reorder() -> Iterator[None]:
    """Instructions inside keep their program order on the device. Here they always do; loops may not stand inside."""
    core = current()
    outer = core in in_order
    in_order.add(core)
    try:
        yield
    finally:
        if not outer:
            in_order.discard(core)


def _check(name: str) -> None:
    since("0.6", f"nl.{name}", _UNROLL)
    if current() in in_order:
        refuse(f"nl.{name} may not stand inside nl.no_reorder()")


def _bound(value: Any, operand: str) -> int:
    if isinstance(value, NkiScalar) and value.dtype != int32:
        refuse(f"a {value.dtype} scalar; the trip count is compared at 32 bits", operand)
    if isinstance(value, RuntimeScalar):
        return value.number
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        refuse(f"{value!r}, expected an int, a register or an int32 scalar", operand)
    return int(value)
