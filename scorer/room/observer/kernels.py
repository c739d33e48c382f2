"""Kernel launches, counted where every execution passes: `nki.Kernel.__call__`."""

from __future__ import annotations

import functools
from typing import Any

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
    depth = 0

    @functools.wraps(call)
    def observed_call(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal depth
        depth += 1  # a kernel called inside a running kernel is inlined: no launch of its own
        try:
            result = call(self, *args, **kwargs)
        finally:
            depth -= 1
        if depth == 0:  # one that raised has not run: what a program does instead must not pass for a launch
            session.launch(self, args, kwargs)
        return result

    kind.__call__ = observed_call
