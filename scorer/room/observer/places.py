"""Which files the program may read and write, and which are nobody's secret.

A library may read what the system has for libraries (certificates, time zones, the machine's description); the program
itself, of the system, only what describes the machine and the process.
"""

from __future__ import annotations

import re

from .program import Program
from .settings import Settings

_DEVICES = re.compile(r"/dev/(null|zero|full|u?random|tty|neuron\d*|shm(/.*)?)")
_MACHINE = re.compile(
    r"/proc/(cpuinfo|meminfo|stat|loadavg|uptime|version|mounts|sys/.*"
    r"|(self|\d+)/(status|statm?|cgroup|cpuset|io|limits|mounts|mountinfo|smaps_rollup|cmdline))"
    r"|/sys/(devices|fs/cgroup|class|bus)(/.*)?|/etc/(localtime|os-release|hostname)|/usr/share/zoneinfo/.*"
)
_SYSTEM = ("/etc/", "/usr/", "/lib", "/bin/", "/opt/", "/proc/", "/sys/", "/dev/", "/nix/", "/var/lib/")
_ENVIRONMENT = re.compile(r"/proc/[^/]+/(task/[^/]+/)?environ")


class Places:
    """Judges paths; they are absolute."""

    def __init__(self, settings: Settings, program: Program) -> None:
        self._program = program
        self._writable = tuple(place.rstrip("/") + "/" for place in settings.writable)
        readable = (*settings.code, *settings.writable, settings.work)
        self._data = settings.data.rstrip("/") + "/"
        self._readable = tuple(place.rstrip("/") + "/" for place in readable)

    def may_be_read(self, full: str, by_the_program: bool) -> bool:
        """The room, the kit's code, the interpreter and its packages; of the system, what is named above."""
        if full.startswith(self._data):
            return False
        if f"{full}/".startswith(self._readable) or self._program.is_installed(full):
            return True
        if _DEVICES.fullmatch(full) or _MACHINE.fullmatch(full):
            return True
        return not by_the_program and full.startswith(_SYSTEM)

    def may_be_written(self, full: str) -> bool:
        """The output directory, the room's own places, devices, and what Python keeps of compiled modules."""
        return (
            f"{full}/".startswith(self._writable)
            or full.startswith(("/dev/", "/proc/self/"))
            or "/__pycache__/" in full
        )

    def is_own_socket(self, address: object) -> bool:
        """Whether an address is a Unix socket in the room, as worker processes use."""
        return isinstance(address, str | bytes) and (
            str(address).startswith(("/tmp/", *self._writable)) or str(address).startswith("\0")
        )

    def holds_environment(self, full: str) -> bool:
        """Whether a file is a process's environment."""
        return _ENVIRONMENT.fullmatch(full) is not None
