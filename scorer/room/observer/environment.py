"""Who reads and sets environment variables: `os.environ` keeps its type; its class's own methods are watched.

`os.environb` has the same class. Whoever iterates over the environment asks for all of it, which is told as "*". Reads
of /proc/self/environ and of C's getenv by ctypes are audit events (audit.py). Not seen: `posix.environ`, the dictionary
that Python was started with, and getenv in compiled code; static rules look for the former.
"""

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
    watched_objects = (os.environ, os.environb)

    def note(what: str, key: object) -> None:
        frame = sys._getframe(2)
        while frame.f_code.co_filename in _THROUGH and frame.f_back is not None:
            frame = frame.f_back
        if isinstance(key, str | bytes) and program.relative(frame.f_code.co_filename) is not None:
            journal.event(what, os.fsdecode(key), program.site(frame))

    def watch(method: str, what: str) -> None:
        real = getattr(kind, method)

        def watched(self: Any, *arguments: Any) -> Any:
            if any(self is watched_object for watched_object in watched_objects):
                note(what, arguments[0] if arguments else "*")
            return real(self, *arguments)

        watched.__name__, watched.__qualname__, watched.__doc__ = real.__name__, real.__qualname__, real.__doc__
        setattr(kind, method, watched)

    watch("__getitem__", "read-environment")
    watch("__setitem__", "set-environment")
    watch("__delitem__", "set-environment")
    watch("__iter__", "read-environment")
