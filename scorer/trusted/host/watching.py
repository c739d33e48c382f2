"""An audit hook that tells the judge what the submission reads, writes, starts, stops and connects to, to the end."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

WRITES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod"}
PROCESSES = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec"}
CONNECTIONS = {"socket.connect", "socket.bind", "socket.sendto"}
READS = {"os.listdir", "os.scandir"}
SIGNALS = {"os.kill", "os.killpg"}
READABLE = (  # for any program, beside its room and what it is made of
    "/bin", "/dev", "/etc", "/lib", "/lib64", "/proc/cpuinfo", "/proc/meminfo", "/proc/self", "/proc/stat",
    "/sys", "/usr",
)  # fmt: skip
LOADERS = ("LD_", "PYTHON")
"""Beginnings of variables that decide what code a process loads."""
WRITING_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
MOST_NOTES = 200  # the first ones say what there is to say


class Watch:
    """The hook. `phase` is what the process is doing, which each note repeats."""

    def __init__(self, handle: int, train_py: str, readable: Sequence[str]) -> None:
        self.handle, self.train_py, self.phase = handle, train_py, "start"
        self.notes = 0
        own = [f"/proc/{os.getpid()}", sys.prefix, sys.base_prefix, *filter(None, sys.path)]
        self.readable = tuple(f"{place.rstrip('/')}/" for place in (*READABLE, *own, *readable))

    def start(self) -> None:
        """Listen from now on; an audit hook cannot be taken away again."""
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Called by the interpreter for every audit event; says nothing unless the submission stands behind it."""
        if event == "open":
            path, mode, flags = arguments
            if not isinstance(path, str | bytes) or os.fsdecode(path) == os.devnull:
                return
            detail = os.fsdecode(path)
            writing = any(c in mode for c in "wax+") if isinstance(mode, str) else bool(flags & WRITING_FLAGS)
            if not writing and self.may_read(detail):
                return
            kind = "write" if writing else "read"
        elif event in READS:
            if not isinstance(arguments[0], str | bytes) or self.may_read(os.fsdecode(arguments[0])):
                return
            kind, detail = "read", os.fsdecode(arguments[0])
        elif event in SIGNALS:
            kind, detail = "signal", f"{event}{arguments}"
        elif event == "sys.addaudithook":
            kind, detail = "hook", event
        elif event == "os.putenv":
            detail = os.fsdecode(arguments[0])
            if not detail.startswith(LOADERS):
                return
            kind = "environment"
        elif event in WRITES:
            kind, detail = "write", os.fsdecode(arguments[0]) if isinstance(arguments[0], str | bytes) else event
        elif event in PROCESSES:
            kind, detail = "subprocess", event
        elif event in CONNECTIONS:
            kind, detail = "connect", repr(arguments[1:])
        else:
            return
        frames = list(walk(sys._getframe(1)))
        lines = [frame.f_lineno for frame in frames if frame.f_code.co_filename == self.train_py]
        if not lines or self.notes == MOST_NOTES:
            return
        self.notes += 1
        direct = frames[0].f_code.co_filename == self.train_py
        note = {"kind": kind, "detail": detail[:500], "line": lines[0], "direct": direct, "phase": self.phase}
        os.write(self.handle, (json.dumps(note) + "\n").encode())

    def may_read(self, path: str) -> bool:
        """Whether any program may read this, or this one because it belongs to it."""
        full = os.path.abspath(path)  # noqa: PTH100 (pathlib would raise audit events of its own)
        return f"{full}/".startswith(self.readable) and not full.startswith(("/proc/self/fd", "/proc/self/mem"))


def walk(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and its callers."""
    while frame is not None:
        yield frame
        frame = frame.f_back
