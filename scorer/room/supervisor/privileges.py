"""Giving up what a command needs none of: capabilities, and the power to gain any.

A command that runs as root keeps root's user id, and with it the files of root; it has no more power than their owner.
"""

from __future__ import annotations

from pathlib import Path

from scorer.room.supervisor import kernel


def give_up() -> None:
    """Empty the capability sets for good: neither a set-user-id program nor being root brings them back."""
    kernel.prctl(kernel.PR_CAP_AMBIENT, kernel.PR_CAP_AMBIENT_CLEAR_ALL)
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    try:
        for capability in range(last + 1):
            kernel.prctl(kernel.PR_CAPBSET_DROP, capability)
    except PermissionError:
        pass  # a process that may not even give them up has none, and the next line keeps it so
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.drop_capabilities()
