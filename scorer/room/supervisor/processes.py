"""What /proc tells of the processes in the room."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")


def all_others() -> list[int]:
    """Every process that /proc shows but this one: within a process namespace, those of the room."""
    own = os.getpid()
    return [int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) != own]  # noqa: PTH208


def descendants(ancestor: int) -> list[int]:
    """Every live process below `ancestor`, nearest first."""
    children: dict[int, list[int]] = {}
    for pid in all_others():
        with contextlib.suppress(OSError):
            after_name = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
            children.setdefault(int(after_name[1]), []).append(pid)
    found: list[int] = []
    level = [ancestor]
    while level:
        level = [pid for parent in level for pid in children.get(parent, ())]
        found += level
    return found


def command_line(pid: int) -> str:
    """What a process was started as; its name when it hides that, "gone" when it has just ended."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        return words or Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return "gone"


def memory(pids: list[int]) -> int:
    """Bytes that processes hold beside mapped files, each page counted once in every process that maps it."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):  # it has just ended
            total += sum(_kilobytes(f"/proc/{pid}/status", (b"RssAnon:", b"RssShmem:"))) * 1024
    return total


def exact_memory(pids: list[int]) -> tuple[int, int]:
    """Bytes of (own, shared) memory with each page counted once over all processes; slow for large ones."""
    own = shared = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            anonymous, shmem = _kilobytes(f"/proc/{pid}/smaps_rollup", (b"Pss_Anon:", b"Pss_Shmem:"))
            own, shared = own + anonymous * 1024, shared + shmem * 1024
    return own, shared


def _kilobytes(file: str, names: tuple[bytes, ...]) -> list[int]:
    found = dict.fromkeys(names, 0)
    for line in Path(file).read_bytes().splitlines():
        name, _, rest = line.partition(b"\t") if b"\t" in line else line.partition(b" ")
        if name in found:
            found[name] = int(rest.split()[0])
    return list(found.values())
