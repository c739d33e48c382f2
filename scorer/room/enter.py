"""The first process inside a clean room: cuts the network off, starts one command, and outlives it.

    python -I -S enter.py STATUS_FD SETTINGS COMMAND...

It is run as a script, by its path, and uses the standard library only. SETTINGS is JSON: {"isolate": bool,
"limits": {"RLIMIT_CORE": [soft, hard], ...}}. It becomes the subreaper of all that the command starts, so that
no descendant escapes it by forking twice or by opening a session of its own. To STATUS_FD it writes one line per fact:

    network none | network not isolated: REASON     whether the room is cut off
    failed REASON                                   the command could not be started
    exit N                                          the command ended (negative: by that signal)
    left PID COMMAND LINE                           a descendant that was still alive a moment after the command's end

Then it kills what is left and ends. SIGTERM, or the death of the scorer, ends everything at once.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import resource
import signal
import socket
import struct
import sys
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWUTS = 0x04000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
IFF_UP = 0x1

GRACE_SECONDS = 0.5  # helpers such as multiprocessing's resource tracker end by themselves just after the program
STOP_SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}


def main() -> None:
    """Read the arguments, enter the room and see the command through."""
    status, settings, command = int(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3:]
    os.set_inheritable(status, False)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, *STOP_SIGNALS})
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    say(status, f"network {cut_network(libc) if settings['isolate'] else 'not isolated: not asked for'}")
    child = os.fork()
    if child == 0:
        become(status, settings["limits"], command)
    hide_from_pipes(status)
    watch(status, child)


def say(status: int, line: str) -> None:
    """Report one fact; a scorer that is gone is no reason to stop cleaning up."""
    with contextlib.suppress(OSError):
        os.write(status, line.replace("\n", " ").encode(errors="backslashreplace") + b"\n")


def cut_network(libc: ctypes.CDLL) -> str:
    """Leave the host's network for a namespace with loopback only; says "none" or why not.

    A forked probe goes first: unshare cannot be taken back, and a room without loopback could not run the launcher.
    """
    probe = os.fork()
    if probe == 0:
        reason = unshare_network(libc)
        os._exit(0 if reason is None else 1)
    permitted = os.waitpid(probe, 0)[1] == 0
    reason = unshare_network(libc) if permitted else "the kernel does not permit a network namespace with loopback"
    return "none" if reason is None else f"not isolated: {reason}"


def unshare_network(libc: ctypes.CDLL) -> str | None:
    """Do it, or say why not.

    The host name becomes "localhost", because the launcher's rendezvous resolves it and the host's own address is gone.
    """
    uid, gid = os.getuid(), os.getgid()
    flags = CLONE_NEWNET | CLONE_NEWUTS | (0 if uid == 0 else CLONE_NEWUSER)
    if libc.unshare(flags) != 0:
        return f"unshare: {os.strerror(ctypes.get_errno())}"
    try:
        if uid != 0:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
            Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
        socket.sethostname("localhost")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            request = struct.pack("16sh14x", b"lo", 0)
            interface_flags = struct.unpack("16sh14x", fcntl.ioctl(control, SIOCGIFFLAGS, request))[1]
            fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", interface_flags | IFF_UP))
    except OSError as error:
        return str(error)
    return None


def become(status: int, limits: dict[str, list[int]], command: list[str]) -> None:
    """In the child: own session, limits, default signals, then the command itself. Never returns."""
    try:
        os.setsid()
        for name, (soft, hard) in limits.items():
            resource.setrlimit(getattr(resource, name), (soft, hard))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD, *STOP_SIGNALS})
        os.execvp(command[0], command)
    except (OSError, ValueError) as error:
        say(status, f"failed cannot start {command[0]}: {error}")
        os._exit(127)


def hide_from_pipes(status: int) -> None:
    """Drop every inherited descriptor, so that a reader of the command's output sees its end when the command ends."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.closerange(3, status)
    os.closerange(status + 1, 1 << 16)


def watch(status: int, child: int) -> None:
    """Reap until the command has ended, report it and what it left, and kill the rest."""
    ended = False
    while not ended:
        arrived = signal.sigwait({signal.SIGCHLD, *STOP_SIGNALS})
        if arrived in STOP_SIGNALS:
            break
        ended = reap(status, child)
    deadline = time.monotonic() + GRACE_SECONDS
    while ended and descendants(os.getpid()) and time.monotonic() < deadline:
        time.sleep(0.02)
        reap(status, child)
    for pid in descendants(os.getpid()) if ended else ():
        say(status, f"left {pid} {command_line(pid)}")
    while remaining := descendants(os.getpid()):
        for pid in remaining:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
        ended = reap(status, child) or ended


def reap(status: int, child: int) -> bool:
    """Collect every child that has ended; True when the command was among them."""
    found = False
    while True:
        try:
            pid, state = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == child:
            say(status, f"exit {os.waitstatus_to_exitcode(state)}")
            found = True


def descendants(ancestor: int) -> list[int]:
    """Every live process below `ancestor`, nearest first."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                after_name = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
                children.setdefault(int(after_name[1]), []).append(int(entry.name))
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


if __name__ == "__main__":
    main()
