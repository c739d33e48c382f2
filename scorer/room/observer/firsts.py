"""What a process uses for the first time: each kernel with each signature, each compiled graph, each shape of a batch.

A device compiles for fixed shapes and constants, so a first use is where a compiler's time goes.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from .journal import Journal
from .program import Program

MOST_OF_ONE = 64  # a kernel that is given another number in every launch compiles in every one: that much shows it
MOST_CALLERS = 6


class FirstUses:
    """Remembers what was used, and tells the journal of what is new."""

    def __init__(self, journal: Journal, program: Program) -> None:
        self._journal, self._program = journal, program
        self._known: dict[tuple[str, str], set[str]] = {}

    def note(self, what: str, name: str, signature: str, update: int) -> None:
        """`name` is used with `signature`, by whatever line of the program called the caller."""
        known = self._known.setdefault((what, name), set())
        if signature in known or len(known) >= MOST_OF_ONE:
            return
        known.add(signature)
        lines = self._lines(sys._getframe(1))
        use = {"what": what, "name": name, "signature": signature, "update": update}
        self._journal.write("first-use", use={**use, "site": lines[0] if lines else None, "callers": lines[1:]})

    def _lines(self, frame: FrameType | None) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while frame is not None and len(found) <= MOST_CALLERS:
            file = self._program.relative(frame.f_code.co_filename)
            if file is not None:
                found.append({"file": file, "line": frame.f_lineno})
            frame = frame.f_back
        return found
