"""Which protections the kernel permits, and entering them.

    user        a user namespace, for root too: the command has no power over anything outside of the room
    network     no network but loopback
    host name   "localhost", which the launcher's rendezvous resolves when the host's own address is gone
    ipc         its own System V shared memory, semaphores and queues
    files       its own view of the file system (see view.py)
    processes   it sees and signals the room's processes only, and they all die with the first of them

One that is not permitted is left out, and the reason told: the room works without it, by weaker means.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path

from scorer.room.supervisor import kernel
from scorer.room.supervisor.view import View, mount_proc

NAMES = ("user", "network", "host name", "ipc", "files", "processes")
NOT_ASKED_FOR = "not asked for"

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1

Reasons = dict[str, str | None]
"""Protection -> None where it holds, else why it does not."""


def enter(wanted: list[str], view: View) -> Reasons:
    """Enter what is wanted and permitted, in the order of NAMES; the next fork begins the process namespace.

    A forked probe goes first: a namespace cannot be left again, and half of one could make the room unusable.
    """
    permitted = _probe(wanted, view)
    reasons = _enter([name for name in wanted if permitted[name] is None], view)
    return {name: permitted[name] or reasons[name] for name in NAMES}


def _probe(wanted: list[str], view: View) -> Reasons:
    """What a child can enter that then ends; a child that breaks permits nothing."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            reasons = _enter(wanted, view)
            if reasons["processes"] is None:
                reasons["processes"] = _probe_proc()
            os.write(writing, json.dumps(reasons).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    if text:
        found: Reasons = json.loads(text)
        return found
    return {name: "the probe broke" if name in wanted else NOT_ASKED_FOR for name in NAMES}


def _probe_proc() -> str | None:
    """Whether the first process of the new namespace can mount its own /proc."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, (_attempt(mount_proc) or "").encode() or b"\0")
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return None if text == b"\0" else text.decode() or "the probe broke"


def _enter(wanted: list[str], view: View) -> Reasons:
    steps: dict[str, Callable[[], None]] = {
        "user": _user,
        "network": _network,
        "host name": _host_name,
        "ipc": lambda: kernel.unshare(kernel.CLONE_NEWIPC, "unshare ipc"),
        "files": lambda: _files(view),
        "processes": _processes,
    }
    return {name: _attempt(steps[name]) if name in wanted else NOT_ASKED_FOR for name in NAMES}


def _attempt(step: Callable[[], None]) -> str | None:
    try:
        step()
    except OSError as error:
        hint = " (a container or a security module forbids it)" if error.errno in (errno.EPERM, errno.EACCES) else ""
        return f"{error.strerror}{hint}"
    return None


def _user() -> None:
    uid, gid = os.getuid(), os.getgid()
    kernel.unshare(kernel.CLONE_NEWUSER, "unshare user")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def _network() -> None:
    kernel.unshare(kernel.CLONE_NEWNET, "unshare network")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(control, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))


def _host_name() -> None:
    kernel.unshare(kernel.CLONE_NEWUTS, "unshare host name")
    socket.sethostname("localhost")


def _files(view: View) -> None:
    kernel.unshare(kernel.CLONE_NEWNS, "unshare files")
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    view.arrange()


def _processes() -> None:
    kernel.unshare(kernel.CLONE_NEWNS, "unshare files")  # its own /proc needs a place of its own
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.unshare(kernel.CLONE_NEWPID, "unshare processes")
