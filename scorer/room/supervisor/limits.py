"""The bounds on what the room's processes use: by the kernel for each process, by watching for all together.

The kernel's own limits end or refuse what one process does. What counts for the whole room (memory, processes, disk) is
looked at several times a second; root is not exempt from that, as it is from the kernel's limit on processes. Memory
is what the processes hold beside mapped files (each page once) and what lies in the room's memory file systems; memory
that only a descriptor refers to (memfd_create, written and not mapped) is not seen.
"""

from __future__ import annotations

import contextlib
import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass

from scorer.room.supervisor import processes

INTERVAL_SECONDS = 0.05
DISK_INTERVAL_SECONDS = 1.0
CPU_GRACE_SECONDS = 5
_SHARE_OF_TIME = 0.01  # looking may take this much of the supervisor's time: with many processes it looks less often


@dataclass(frozen=True)
class Exceeded:
    """A limit of the whole room that was passed."""

    limit: str
    allowed: int
    used: int
    process: str  # the one that used most, where that can be told


def apply(limits: dict[str, int]) -> None:
    """Set the limits that the kernel keeps for each process; an own limit that is lower already stays."""
    per_process = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: limits["cpu_seconds"],
        resource.RLIMIT_DATA: limits["memory_bytes"],
        resource.RLIMIT_NOFILE: limits["open_files"],
        resource.RLIMIT_FSIZE: limits["file_bytes"],
    }
    for number, wanted in per_process.items():
        hard = resource.getrlimit(number)[1]
        ceiling = wanted + CPU_GRACE_SECONDS if hard == resource.RLIM_INFINITY else hard
        # Processor time: a moment between the soft limit's SIGXCPU, which has a name, and the hard limit's SIGKILL.
        later = wanted + CPU_GRACE_SECONDS if number == resource.RLIMIT_CPU else wanted
        resource.setrlimit(number, (min(wanted, ceiling), min(later, ceiling)))


class Watch:
    """Looks at the room. `members` lists its processes, `memory_places` are its memory file systems."""

    def __init__(
        self, limits: dict[str, int], members: Callable[[], list[int]], directories: list[str], memory_places: list[str]
    ) -> None:
        self._limits, self._members = limits, members
        self._directories, self._memory_places = directories, memory_places
        self._disk_at = time.monotonic()
        self.interval = INTERVAL_SECONDS

    def look(self) -> Exceeded | None:
        """The first limit that is passed at this moment."""
        began = time.monotonic()
        members = self._members()
        found = self._processes(members) or self._memory(members)
        if found is None and began - self._disk_at >= DISK_INTERVAL_SECONDS:
            found = self._disk()
            took = time.monotonic() - began
            self._disk_at = began + took / _SHARE_OF_TIME
        else:
            self.interval = min(1.0, max(INTERVAL_SECONDS, (time.monotonic() - began) / _SHARE_OF_TIME))
        return found

    def _processes(self, members: list[int]) -> Exceeded | None:
        allowed = self._limits["processes"]
        if len(members) <= allowed:
            return None
        lines = [processes.command_line(pid) for pid in members[: allowed + 1]]
        return Exceeded("processes", allowed, len(members), max(set(lines), key=lines.count))

    def _memory(self, members: list[int]) -> Exceeded | None:
        allowed = self._limits["memory_bytes"]
        held = sum(_held(place) for place in self._memory_places)
        if processes.memory(members) + held <= allowed:
            return None
        own, shared = processes.exact_memory(members)
        used = own + max(shared, held)
        if used <= allowed:
            return None
        largest = max(members, key=lambda pid: processes.memory([pid]), default=0)
        return Exceeded("memory_bytes", allowed, used, processes.command_line(largest))

    def _disk(self) -> Exceeded | None:
        allowed = self._limits["disk_bytes"]
        used = sum(_on_disk(directory) for directory in self._directories)
        return Exceeded("disk_bytes", allowed, used, "") if used > allowed else None


def _held(place: str) -> int:
    """Bytes in a memory file system."""
    with contextlib.suppress(OSError):
        state = os.statvfs(place)
        return (state.f_blocks - state.f_bfree) * state.f_frsize
    return 0


def _on_disk(directory: str) -> int:
    """Bytes that the files below a directory take; a directory nested too deep to be named is left out."""
    total, pending = 0, [directory]
    while pending:
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
    return total
