"""Who reads and sets environment variables: `os.environ` keeps its type; its class's own methods are watched."""

from __future__ import annotations

import os
import sys
from typing import Any

from .journal import Journal
from .program import Program

_THROUGH = (os.__file__, sys.modules["_collections_abc"].__file__ or "", "<frozen os>", "<frozen _collections_abc>")


def install(program: Program, journal: Journal) -> None:
    """Watch reads, assignments and deletions; only those that a line of the program makes are noted."""
    kind: Any = type(os.environ)

    def note(what: str, key: object) -> None:
        frame = sys._getframe(2)
        while frame.f_code.co_filename in _THROUGH and frame.f_back is not None:
            frame = frame.f_back
        if isinstance(key, str) and program.relative(frame.f_code.co_filename) is not None:
            journal.event(what, key, program.site(frame))

    def watch(method: str, what: str) -> None:
        real = getattr(kind, method)

        def watched(self: Any, key: Any, *value: Any) -> Any:
            if self is os.environ:
                note(what, key)
            return real(self, key, *value)

        watched.__name__, watched.__qualname__, watched.__doc__ = real.__name__, real.__qualname__, real.__doc__
        setattr(kind, method, watched)

    watch("__getitem__", "read-environment")
    watch("__setitem__", "set-environment")
    watch("__delitem__", "set-environment")
