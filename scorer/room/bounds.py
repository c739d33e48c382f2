"""The finding about a limit of the clean room (the profile's `room`), in words that name it."""

from __future__ import annotations

import signal

from scorer.contest import RoomLimits
from scorer.findings import define
from scorer.room.cleanroom import Exceeded

OVER_LIMIT = define(
    "RUN018",
    title="The run went over a limit of the clean room",
    why="The limits are the profile's: a program that needs more ends early on the scoring machine, or harms it.",
    remedy="Use less of what the message names; if the contest allows more, say so under `room` in the profile.",
)

WORDS = {
    "cpu_seconds": "processor time (cpu_seconds)",
    "memory_bytes": "memory (memory_bytes)",
    "open_files": "open files (open_files)",
    "processes": "processes at once (processes)",
    "file_bytes": "the size of one file (file_bytes)",
    "disk_bytes": "files on disk (disk_bytes)",
}
"""Field of RoomLimits -> what it limits."""

_SIGNS = {
    "Too many open files": "open_files",
    "File too large": "file_bytes",
    "Cannot allocate memory": "memory_bytes",
    "can't allocate memory": "memory_bytes",
    "MemoryError": "memory_bytes",
    "bad_alloc": "memory_bytes",
    f"was killed by {signal.SIGXCPU.name}": "cpu_seconds",
    f"was killed by {signal.SIGXFSZ.name}": "file_bytes",
}
"""What the kernel's refusals look like in a program's last error, or in the launcher's words about a rank."""


def of_room(exceeded: Exceeded) -> str:
    """What the supervisor ended the room for."""
    by = f", most of it by `{exceeded.process}`" if exceeded.process else ""
    return f"{WORDS[exceeded.limit]}: {exceeded.used:,} used, {exceeded.allowed:,} allowed{by}"


def met(error: str) -> str | None:
    """The limit that an error is the mark of, or None."""
    return next((name for sign, name in _SIGNS.items() if sign in error), None)


def of_process(name: str, limits: RoomLimits) -> str:
    """A limit that the kernel keeps for each process."""
    return f"{WORDS[name]}: {getattr(limits, name):,} allowed for one process"
