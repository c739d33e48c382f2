"""Kernel launches, counted where every execution passes: `nki.Kernel.__call__`."""

from __future__ import annotations

import functools
from typing import Any

from .accounts import Accounts
from .session import Session


def install(module: Any, session: Session) -> None:
    """Watch the class, so that kernels made before and after, and their `kernel[lnc]` variants, are all counted."""
    kind = getattr(module, "Kernel", None)
    if kind is None:
        session.journal.event(
            "uncounted-kernels", f"nki {getattr(module, '__version__', '?')} has no Kernel class", None
        )
        return
    call = kind.__call__
    # The SDK compiles a kernel's source; on the stand-in its instructions are functions that run.
    isa = module.isa if getattr(module, "STAND_IN", False) else None
    codes = {} if isa is None else {f.__code__: n for n in isa.__all__ if hasattr(f := getattr(isa, n), "__code__")}
    accounts = Accounts(session) if session.settings.account and isa is not None else None
    depth = 0

    def timed_call(kernel: Any, *args: Any, **kwargs: Any) -> Any:
        with session.launching(kernel, args, kwargs):
            return call(kernel, *args, **kwargs)

    @functools.wraps(call)
    def observed_call(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal depth
        depth += 1  # a kernel called inside a running kernel is inlined: no launch of its own
        try:
            with session.inside_kernel(codes if depth == 1 else {}):
                if depth > 1:
                    result = call(self, *args, **kwargs)
                elif accounts is None:
                    result = timed_call(self, *args, **kwargs)
                else:
                    result = accounts.launch(self, args, kwargs, timed_call)
        finally:
            depth -= 1
        if depth == 0:  # one that raised has not run: what a program does instead must not pass for a launch
            session.launch(self, args, kwargs)
        return result

    kind.__call__ = observed_call
