"""The journal of one rank: a file of JSON lines, each written whole and at once.

Kinds of lines, in the order in which they may appear: "start", "clock" (on a scripted one), "program" (the interpreter
turns to it), "account-limits" (once), "training" (its first batch or backward), "model" (once), "update", "tick",
"calls", "census", "flame", "first-use", "account" and "accounted" (kernels' launches), "span" (a save or an
evaluation), "optimizers" (once) and "event" (any number), "clock-end", "problem" (at most once), "end". A rank that was
killed leaves a journal without "end".
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any

from .settings import Settings

monotonic = time.monotonic  # the real one: taken before the clock is replaced


class Journal:
    """An append-only file; `closed` once writing failed or the process forked away."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._open = True
        self._seen: set[tuple[str, str, str]] = set()

    @classmethod
    def claim(cls, settings: Settings) -> Journal | None:
        """Create this rank's journal; None if it exists, because then this is a child process of the observed rank."""
        path = Path(settings.records) / f"rank-{int(os.environ['RANK'])}.jsonl"
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except FileExistsError:
            return None
        journal = cls(descriptor)
        os.register_at_fork(after_in_child=journal.close)
        return journal

    def write(self, kind: str, **fields: Any) -> None:
        """Append one line. A full disk must not change what the program does: the journal just ends there."""
        if not self._open:
            return
        line = json.dumps({"kind": kind, "at": monotonic(), **fields}, ensure_ascii=False, default=repr) + "\n"
        data = line.encode(errors="backslashreplace")
        try:
            written = os.write(self._descriptor, data)
        except OSError:
            written = -1
        if written != len(data):
            self.close()

    def event(self, kind: str, detail: str, site: dict[str, Any] | None) -> None:
        """Note something that the program did; the same thing from the same line is noted once."""
        key = (kind, detail, str(site))
        if key not in self._seen:
            self._seen.add(key)
            self.write("event", event={"kind": kind, "detail": detail, "site": site})

    def close(self) -> None:
        """Write no more."""
        self._open = False
        with contextlib.suppress(OSError):
            os.close(self._descriptor)
