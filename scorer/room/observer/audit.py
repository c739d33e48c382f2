"""What the program writes, starts and connects to, from Python's audit events."""

from __future__ import annotations

import os
import sys
from typing import Any

from .journal import Journal
from .program import Program
from .settings import Settings

WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
PATHS = {"os.mkdir": 0, "os.rename": 1, "os.link": 1, "os.symlink": 1, "os.remove": 0, "os.rmdir": 0, "os.truncate": 0}
PROCESSES = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "os.spawn"}


def install(settings: Settings, program: Program, journal: Journal) -> None:
    """Add the hook. It cannot be removed again: it must stay cheap for events that it does not watch."""
    writable = tuple(directory.rstrip("/") + "/" for directory in settings.writable)
    inside = False

    def written(path: object) -> None:
        if isinstance(path, bytes | os.PathLike):
            path = os.fsdecode(path)
        if not isinstance(path, str):
            return  # a descriptor: its opening was seen
        full = os.path.abspath(path)  # noqa: PTH100 (pathlib would be imported into the program)
        if full.startswith((*writable, "/dev/", "/proc/self/")) or f"{full}/" in writable or "/__pycache__/" in full:
            return
        place = program.blame(sys._getframe(2))
        if place is not None:
            journal.event("write", _told(full, settings.work), place)

    def process(event: str, arguments: tuple[Any, ...]) -> None:
        place = program.blame(sys._getframe(2))
        if place is not None:
            what = arguments[0] if arguments else event
            journal.event("subprocess", os.path.basename(os.fsdecode(what)) if what else event, place)  # noqa: PTH119

    def connected(address: object) -> None:
        place = program.site(sys._getframe(2))
        if place is not None and not _is_distributed():
            journal.event("connect", str(address), place)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal inside
        if inside:
            return
        if event == "open":
            path, mode, flags = arguments
            writing = any(letter in mode for letter in "wax+") if isinstance(mode, str) else bool(flags & WRITE_FLAGS)
            if not writing:
                return
        elif event not in PATHS and event not in PROCESSES and event != "socket.connect":
            return
        inside = True
        try:
            if event == "open":
                written(path)
            elif event in PATHS:
                written(arguments[PATHS[event]])
            elif event in PROCESSES:
                process(event, arguments)
            else:
                connected(arguments[1])
        finally:
            inside = False

    sys.addaudithook(hook)


def _told(full: str, work: str) -> str:
    return full[len(work) + 1 :] if full.startswith(f"{work}/") else full


def _is_distributed() -> bool:
    """Whether torch.distributed is connecting, on the program's behalf."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        if "/torch/distributed/" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False
