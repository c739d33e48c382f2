"""What the program reads, writes, starts, imports and connects to, from Python's audit events.

Told is what a line of the program is behind, not what libraries do on their own account (`Program.blame`). What C code
does without Python's knowledge has no event: a file that a C++ reader opens, a module that is loaded already.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from .journal import Journal
from .places import Places
from .program import Program
from .settings import Settings

WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
WRITTEN = {
    "os.mkdir": 0,
    "os.rename": 1,
    "os.link": 1,
    "os.symlink": 1,
    "os.remove": 0,
    "os.rmdir": 0,
    "os.truncate": 0,
    "os.chmod": 0,
    "os.chown": 0,
    "os.setxattr": 0,
    "os.utime": 0,
}
"""Event -> which of its arguments is the path that it changes."""

PROGRAM_BEGINS = {"cpython.run_file", "cpython.run_module", "cpython.run_command"}
"""Raised by the interpreter itself before the program's first line."""

LISTED = {"os.listdir", "os.scandir"}
PROCESSES = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "os.spawn"}
CONNECTIONS = {
    "socket.connect": 1,
    "socket.sendto": 1,
    "socket.sendmsg": 1,
    "socket.getaddrinfo": 0,
    "socket.gethostbyname": 0,
}
"""Event -> which of its arguments is the address."""

ENVIRONMENT_FUNCTIONS = {"getenv", "secure_getenv", "environ", "__environ"}


def install(settings: Settings, program: Program, journal: Journal) -> None:
    """Add the hook. It cannot be removed again: it must stay cheap for events that it does not watch."""
    watcher = _Watcher(settings, program, journal)
    handlers: dict[str, Callable[[str, tuple[Any, ...], FrameType], None]] = {
        "open": watcher.opened,
        "import": watcher.imported,
        "ctypes.dlsym": watcher.looked_up,
        **dict.fromkeys(LISTED, watcher.listed),
        **dict.fromkeys(WRITTEN, watcher.changed),
        **dict.fromkeys(PROCESSES, watcher.started),
        **dict.fromkeys(CONNECTIONS, watcher.connected),
    }
    inside = False

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal inside
        if event in PROGRAM_BEGINS:
            journal.write("program")
            return
        handler = handlers.get(event)
        if handler is None or inside:
            return
        frame = sys._getframe().f_back
        if frame is None:  # the interpreter itself, as when it opens the program
            return
        inside = True
        try:
            handler(event, arguments, frame)
        finally:
            inside = False

    sys.addaudithook(hook)


class _Watcher:
    """One method for each kind of event."""

    def __init__(self, settings: Settings, program: Program, journal: Journal) -> None:
        self._work, self._program, self._journal = settings.work, program, journal
        self._places = Places(settings, program)

    def opened(self, _event: str, arguments: tuple[Any, ...], frame: FrameType) -> None:
        path, mode, flags = arguments
        full = _full(path)
        if full is None:
            return  # a descriptor: its opening was seen
        if any(letter in mode for letter in "wax+") if isinstance(mode, str) else bool(flags & WRITE_FLAGS):
            self._written(full, frame)
        else:
            self._read(full, frame)

    def listed(self, _event: str, arguments: tuple[Any, ...], frame: FrameType) -> None:
        full = _full("." if arguments[0] is None else arguments[0])
        if full is not None:
            self._read(full, frame)

    def changed(self, event: str, arguments: tuple[Any, ...], frame: FrameType) -> None:
        full = _full(arguments[WRITTEN[event]])
        if full is not None:
            self._written(full, frame)

    def started(self, event: str, arguments: tuple[Any, ...], frame: FrameType) -> None:
        place = self._program.blame(frame)
        if place is not None:
            what = arguments[0] if arguments else event
            told = os.path.basename(os.fsdecode(what)) if what else event  # noqa: PTH119
            self._journal.event("subprocess", told, place)

    def connected(self, event: str, arguments: tuple[Any, ...], frame: FrameType) -> None:
        address = arguments[CONNECTIONS[event]]
        place = self._program.site(frame)
        if place is None or address is None or _is_distributed(frame) or self._places.is_own_socket(address):
            return
        self._journal.event("connect", str(address), place)

    def imported(self, _event: str, arguments: tuple[Any, ...], frame: FrameType) -> None:
        """A package that a line of the program itself imports, neither the interpreter's nor the program's own."""
        importer: FrameType | None = frame
        while importer is not None and importer.f_code.co_filename.startswith("<frozen importlib"):
            importer = importer.f_back
        name = str(arguments[0]).partition(".")[0]
        if importer is None or name in sys.stdlib_module_names or self._is_own(name):
            return
        if self._program.relative(importer.f_code.co_filename) is not None:
            self._journal.event("import", name, self._program.site(importer))

    def looked_up(self, _event: str, arguments: tuple[Any, ...], frame: FrameType) -> None:
        """A C function that reads the environment past os.environ."""
        if arguments[1] in ENVIRONMENT_FUNCTIONS and (place := self._program.blame(frame)) is not None:
            self._journal.event("read-environment", "*", place)

    def _read(self, full: str, frame: FrameType) -> None:
        if self._places.holds_environment(full):
            if (place := self._program.blame(frame)) is not None:
                self._journal.event("read-environment", "*", place)
        elif self._places.may_be_read(full, self._is_direct(frame)):
            return
        elif (place := self._program.blame(frame)) is not None:
            self._journal.event("read", _told(full, self._work), place)

    def _written(self, full: str, frame: FrameType) -> None:
        if not self._places.may_be_written(full) and (place := self._program.blame(frame)) is not None:
            self._journal.event("write", _told(full, self._work), place)

    def _is_direct(self, frame: FrameType) -> bool:
        """Whether the program itself opens, and no library for it."""
        return self._program.relative(frame.f_code.co_filename) is not None

    def _is_own(self, name: str) -> bool:
        base = self._program.root + name
        return os.path.exists(f"{base}.py") or os.path.isdir(base)  # noqa: PTH110, PTH112


def _full(path: object) -> str | None:
    if isinstance(path, bytes | os.PathLike):
        path = os.fsdecode(path)
    return os.path.abspath(path) if isinstance(path, str) else None  # noqa: PTH100 (no pathlib in the program)


def _told(full: str, work: str) -> str:
    return full[len(work) + 1 :] if full.startswith(f"{work}/") else full


def _is_distributed(frame: FrameType | None) -> bool:
    """Whether torch.distributed is connecting, on the program's behalf."""
    while frame is not None:
        if "/torch/distributed/" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False
