"""The first process inside a clean room: enters its protections, starts one command, watches it, and outlives it.

    python -I -S enter.py STATUS_FD SETTINGS COMMAND...

It is run as a script, by its path, and uses the standard library only. SETTINGS is JSON, see `Settings`. To STATUS_FD
it writes one JSON object a line, with a "fact":

    protections   "reasons": each protection of namespaces.NAMES -> null where it holds, else why it does not
    failed        "reason": the command could not be started
    exit          "code": the command ended (negative: by that signal)
    exceeded      "limit", "allowed", "used", "process": a limit of the whole room was passed, and everything killed
    left          "pid", "command": a process that was still alive a moment after the command's end
    left in memory   "name": a file in /tmp or /dev/shm, or a System V object, that is still there

Then it kills what is left and ends. SIGTERM, or the death of the scorer, ends everything at once. Where the kernel
permits a process namespace there are two of it: the outer one waits for signals, the inner one is process 1 of the
namespace; killing it kills all. Elsewhere there is one, the subreaper of all that the command starts.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2]))

from scorer.room.supervisor import kernel, limits, namespaces, privileges, processes
from scorer.room.supervisor.view import View, mount_proc

GRACE_SECONDS = 0.5  # helpers such as multiprocessing's resource tracker end by themselves just after the program
STOP_SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
KILL_SECONDS = 4.0  # what even SIGKILL does not end by then waits in the kernel
MOST_LEFT = 100  # of each kind that are told


@dataclass(frozen=True)
class Settings:
    """What the scorer asks for."""

    owner: int  # process id of the scorer
    protections: list[str]  # of namespaces.NAMES
    view: View
    limits: dict[str, int]  # cpu_seconds, memory_bytes, open_files, processes, file_bytes, disk_bytes
    disk: list[str]  # directories whose size counts towards disk_bytes


def main() -> None:
    """Read the arguments, enter the room and see the command through."""
    status, given, command = int(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3:]
    settings = Settings(**{**given, "view": View(**given["view"])})
    os.set_inheritable(status, False)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, *STOP_SIGNALS})
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != settings.owner:
        return  # it died before it could be watched
    reasons = namespaces.enter(settings.protections, settings.view)
    tell(status, "protections", reasons=reasons)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)  # a command of the same user may not look into this process
    if reasons["processes"] is not None:
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        own = os.getpid()
        Keeper(status, settings, reasons, lambda: processes.descendants(own)).keep(command)
        return
    alive, outer = os.pipe()
    inner = os.fork()
    if inner == 0:
        os.close(outer)
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.read(alive, 1):  # nothing: the outer one is gone already
            try:
                mount_proc()
                Keeper(status, settings, reasons, processes.all_others).keep(command)
            except OSError as error:
                tell(status, "failed", reason=f"the room broke: {error}")
        os._exit(0)
    os.write(outer, b"1")
    hide_from_pipes(None)
    while signal.sigwait({signal.SIGCHLD, *STOP_SIGNALS}) == signal.SIGCHLD:
        if os.waitpid(inner, os.WNOHANG)[0]:
            return
    os.kill(inner, signal.SIGKILL)
    os.waitpid(inner, 0)


def tell(status: int, fact: str, **fields: Any) -> None:
    """Report one fact; a scorer that is gone is no reason to stop cleaning up."""
    with contextlib.suppress(OSError):
        os.write(status, json.dumps({"fact": fact, **fields}).encode() + b"\n")


def hide_from_pipes(kept: int | None) -> None:
    """Drop every inherited descriptor, so that a reader of the command's output sees its end when the command ends."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    end = 1 << 16
    os.closerange(3, end if kept is None else kept)
    os.closerange(end if kept is None else kept + 1, end)


class Keeper:
    """Starts the command, watches it, and clears up behind it. `members` lists the room's other processes."""

    def __init__(
        self, status: int, settings: Settings, reasons: namespaces.Reasons, members: Callable[[], list[int]]
    ) -> None:
        self.status, self.settings, self.members = status, settings, members
        self.is_first = reasons["processes"] is None  # process 1 of its namespace
        self.own_ipc = reasons["ipc"] is None and self.is_first
        self.memory_places = sorted(settings.view.private) if reasons["files"] is None else []
        self.child = 0
        self.ended = False

    def keep(self, command: list[str]) -> None:
        """See one command through, to the end of everything that it started."""
        self.child = os.fork()
        if self.child == 0:
            self.become(command)
        hide_from_pipes(self.status)
        self.watch()
        if self.ended:
            self.grace()
            for pid in self.members()[:MOST_LEFT]:
                tell(self.status, "left", pid=pid, command=processes.command_line(pid))
        self.kill_all()
        for name in [*self.left_in_memory()][:MOST_LEFT] if self.ended else []:
            tell(self.status, "left in memory", name=name)

    def become(self, command: list[str]) -> None:
        """In the child: own session, limits, default signals, no privileges, then the command. Never returns."""
        try:
            os.setsid()
            limits.apply(self.settings.limits)
            privileges.give_up()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD, *STOP_SIGNALS})
            os.execvp(command[0], command)
        except (OSError, ValueError) as error:
            tell(self.status, "failed", reason=f"cannot start {command[0]}: {error}")
            os._exit(127)

    def watch(self) -> None:
        """Reap until the command has ended, a limit is passed, or somebody outside says stop."""
        watch = limits.Watch(self.settings.limits, self.members, self.settings.disk, self.memory_places)
        due = time.monotonic() + watch.interval
        while not self.ended:
            arrived = signal.sigtimedwait({signal.SIGCHLD, *STOP_SIGNALS}, max(0.0, due - time.monotonic()))
            if arrived is not None and arrived.si_signo == signal.SIGCHLD:
                self.reap()
            elif arrived is not None and not self.is_first:
                return  # process 1 gets these from the room's own processes only, and does not heed them
            if time.monotonic() >= due and not self.ended:  # by the clock: signals must not put it off
                exceeded = watch.look()
                if exceeded is not None:
                    tell(self.status, "exceeded", **asdict(exceeded))
                    return
                due = time.monotonic() + watch.interval

    def grace(self) -> None:
        """Let helpers that are about to end do so."""
        deadline = time.monotonic() + GRACE_SECONDS
        while self.members() and time.monotonic() < deadline:
            time.sleep(0.02)
            self.reap()

    def kill_all(self) -> None:
        """End every process of the room, however fast they multiply."""
        deadline = time.monotonic() + KILL_SECONDS
        while (remaining := self.members()) and time.monotonic() < deadline:
            if self.is_first:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(-1, signal.SIGKILL)  # all of the namespace but this one, in one step of the kernel's
            else:
                stop_each(remaining, signal.SIGSTOP)  # what is stopped starts no other: after some rounds all are
                if not set(self.members()) - set(remaining):
                    stop_each(remaining, signal.SIGKILL)
            time.sleep(0.005)
            self.reap()

    def reap(self) -> None:
        """Collect every child that has ended; the command's end is told."""
        while True:
            try:
                pid, state = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.child:
                tell(self.status, "exit", code=os.waitstatus_to_exitcode(state))
                self.ended = True

    def left_in_memory(self) -> list[str]:
        """Names of what is left in the room's memory file systems and among its System V objects."""
        given = {os.path.realpath(path) for path in (*self.settings.view.visible, *self.settings.view.writable)}
        found = []
        for place in self.memory_places:
            for directory, below, files in os.walk(place):
                below[:] = [name for name in below if f"{directory}/{name}" not in given]
                found += [path for path in (f"{directory}/{file}" for file in files) if path not in given]
        if self.own_ipc:
            for kind in ("shm", "sem", "msg"):
                lines = Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]
                found += [f"System V {kind} {line.split()[1]}" for line in lines]
        return sorted(found)


def stop_each(pids: list[int], number: int) -> None:
    """Send a signal to each process that is still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


if __name__ == "__main__":
    main()
