"""The clean room: fresh directories, an environment from an allow-list, bounded runs, nothing left behind.

    with Room() as room:
        process = room.popen([sys.executable, "program.py"], room.environment(pythonpath=[kit]))
        code = process.wait(timeout=60)

A room is a directory of its own with `work` (the working directory), `home`, `tmp`, `caches` and `control` (the
scorer's notes). Nothing is inherited from the scorer's environment. The command runs below a supervisor (`enter.py`)
from which no descendant escapes, and which enters what protections the kernel permits (`supervisor/namespaces.py`): no
network, its own processes only, a read-only file system without home directories, other rooms and the scorer's sources.
What the environment and the command name (interpreter, kit, data) stays visible there. Which protections held, and why
the others did not, is in `RoomProcess.protections`. Limits hold for each process or for the room as a whole
(`supervisor/limits.py`). Leaving the `with` block kills everything and removes the directory, also after an exception;
`guard()` extends that to SIGTERM, SIGHUP and SIGINT. Two rooms never share a directory, a process group or a namespace.

It needs Linux, and no privileges: as root and as any other user it does the same.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import site
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, Any, Self

import psutil

from scorer.contest import RoomLimits
from scorer.room.supervisor import kernel
from scorer.room.supervisor.namespaces import NAMES as PROTECTIONS
from scorer.room.supervisor.view import View

ENTER = Path(__file__).parent / "enter.py"
SOURCES = Path(__file__).resolve().parents[2]  # the project, or, where it is installed, the folder of all packages
PREFIX = "submission-parity-"
OWNER = "owner"  # a file in the room that its scorer holds locked
ABANDONED_SECONDS = 60.0
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
STOP_SECONDS = 5.0  # the supervisor needs milliseconds; after this the scorer kills by itself
REMOVE_SECONDS = 60.0
MOST_FILES = 100_000

# Generous: they stop an accident (a runaway log, a leak of descriptors), not a well-behaved large run.
LIMITS = RoomLimits(
    cpu_seconds=7 * 24 * 3600,
    memory_bytes=1 << 40,
    open_files=65_536,
    processes=4096,
    file_bytes=256 << 30,
    disk_bytes=1 << 40,
)
HOME_DIRECTORIES = ("/home", "/root")
SYSTEM_DIRECTORIES = {"/", "/dev", "/etc", "/nix", "/opt", "/proc", "/sys", "/usr", "/var"}
SHARED_DIRECTORIES = ("/tmp", "/var/tmp", "/run")  # of sockets, and of other programs' files

_live: set[Room] = set()  # changed and copied in single steps: a signal handler reads it, so there is no lock


class StoppedError(RuntimeError):
    """The scorer was asked to stop while a room was in use."""


class RoomError(RuntimeError):
    """This machine cannot have a room; the message says what is needed."""


@dataclass(frozen=True)
class Exceeded:
    """A limit of the room as a whole that was passed, which ended everything in it."""

    limit: str  # a field of contest.RoomLimits
    allowed: int
    used: int
    process: str  # command line of the process behind it, as far as can be told


class Room:
    """One clean room. Use it as a context manager; `root` and everything below it is gone afterwards."""

    def __init__(
        self,
        *,
        limits: RoomLimits = LIMITS,
        visible: Sequence[Path] = (),
        secret: Sequence[Path] = (),
        without: Collection[str] = (),
    ) -> None:
        """`visible` are further paths that the commands need, `secret` directories that they must not see.

        `without` names protections (of namespaces.NAMES) that are not asked for. Raises RoomError or OSError.
        """
        if not sys.platform.startswith("linux"):
            raise RoomError(
                f"a clean room needs Linux (/proc, prctl, signals of the kernel), and this is {sys.platform}; "
                "run it in a Linux container or virtual machine"
            )
        _remove_abandoned()
        self.root = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
        self._lock = os.open(self.root / OWNER, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.work, self.home, self.tmp = self.root / "work", self.root / "home", self.root / "tmp"
        self.caches, self.control = self.root / "caches", self.root / "control"
        self.records = self.control / "records"  # what of `control` the commands may write
        for directory in (self.work, self.home, self.tmp, self.caches, self.control, self.records):
            directory.mkdir()
        self._limits = limits
        self._visible, self._secret = list(visible), list(secret)
        self._protections = [name for name in PROTECTIONS if name not in without]
        self._shared_caches: set[Path] = set()
        self._processes: list[RoomProcess] = []
        self._given: set[Path] = set()

    def __enter__(self) -> Self:
        _live.add(self)
        _close_to_debuggers()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def give(self, name: str, content: bytes) -> Path:
        """Put a read-only file into the working directory; it does not count as left over."""
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o444)
        self._given.add(path)
        return path

    def environment(
        self,
        *,
        pythonpath: Sequence[Path] = (),
        variables: Mapping[str, str] | None = None,
        caches: Path | None = None,
        cache_directories: Mapping[str, str] | None = None,
    ) -> dict[str, str]:
        """A whole environment: the room's own directories, this interpreter first on PATH, and `variables` on top.

        `caches` names a directory of compile caches to use instead of the room's empty one, `cache_directories` the
        variables that point below it.
        """
        cache = caches or self.caches
        if caches is not None:
            self._shared_caches.add(caches)
        return {
            "PATH": f"{Path(sys.executable).parent}:{SYSTEM_PATH}",
            "HOME": str(self.home),
            "TMPDIR": str(self.tmp),
            "LANG": "C.UTF-8",
            "PYTHONPATH": ":".join(map(str, pythonpath)),
            "XDG_CACHE_HOME": str(cache),
            **{name: str(cache / below) for name, below in (cache_directories or {}).items()},
            **(variables or {}),
        }

    def popen(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        stdin: int | IO[Any] | None = subprocess.DEVNULL,
        stdout: int | IO[Any] | None = None,
        stderr: int | IO[Any] | None = None,
        pass_fds: Sequence[int] = (),
        cwd: Path | None = None,
    ) -> RoomProcess:
        """Start `command` (found on the environment's PATH) in the room; `stdin` and the rest as in subprocess.Popen.

        Raises StoppedError when the scorer is already being stopped.
        """
        read_end, write_end = os.pipe()
        settings = {
            "owner": os.getpid(),
            "protections": self._protections,
            "view": asdict(self._view(command, environment, cwd or self.work)),
            "limits": self._limits.model_dump(),
            "disk": [str(place) for place in self._own_places()],
        }
        try:
            supervisor = subprocess.Popen(
                [sys.executable, "-I", "-S", str(ENTER), str(write_end), json.dumps(settings), *command],
                env=dict(environment),
                cwd=cwd or self.work,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(write_end, *pass_fds),
                start_new_session=True,
            )
        except BaseException:
            os.close(read_end)
            raise
        finally:
            os.close(write_end)
        process = RoomProcess(supervisor, read_end)
        self._processes.append(process)
        if _stopping.is_set():
            process.stop()
            raise StoppedError("the scorer was asked to stop")
        return process

    def _own_places(self) -> list[Path]:
        return [self.work, self.home, self.tmp, self.caches, self.records]

    def _view(self, command: Sequence[str], environment: Mapping[str, str], cwd: Path) -> View:
        """What the command sees: what it and its environment name, this interpreter, and the room."""
        named = [word for value in environment.values() for word in value.split(":")]
        named += [*command, str(cwd), sys.executable, *_interpreter(), *map(str, self._visible)]
        visible = {word for word in named if word.startswith("/") and word != "/" and os.path.lexists(word)}
        visible |= {str(target) for place in self._visible for target in _linked_from(place)}
        sources = SOURCES if (SOURCES / "pyproject.toml").is_file() else SOURCES / "scorer"
        hidden = [Path.home(), Path(tempfile.gettempdir()), sources]
        if str(Path.cwd()) not in SYSTEM_DIRECTORIES:
            hidden.append(Path.cwd())  # where the author works
        return View(
            work=str(cwd),
            writable=[str(place) for place in (*self._own_places(), *sorted(self._shared_caches))],
            read_only=[str(path) for path in sorted(self._given)],
            visible=[str(self.root), *sorted(visible)],
            hidden=[*map(str, hidden), *HOME_DIRECTORIES, *SHARED_DIRECTORIES],
            secret=[str(path) for path in self._secret],
            private={"/tmp": self._limits.memory_bytes // 4, "/dev/shm": self._limits.memory_bytes // 2},
        )

    def leftover_files(self, *, allowed: Sequence[str] = ()) -> list[str]:
        """Files below `work`, `home` and `tmp` that were not given, relative to the room, sorted.

        With them come those of the room's own /tmp and /dev/shm and its System V objects, as its commands left them.
        `allowed` names directories of `work` (e.g. "out") that the program may fill. Of very many the first are told.
        """
        found = []
        permitted = [self.work / name for name in allowed]
        for base in (self.work, self.home, self.tmp):
            for path in _files_below(base):
                ours = path in self._given or "__pycache__" in path.parts
                if not ours and not any(path.is_relative_to(place) for place in permitted):
                    found.append(path.relative_to(self.root).as_posix())
        in_memory = (name for process in self._processes for name in process.left_in_memory)
        return sorted([*found, *in_memory])

    def leftover_processes(self) -> list[str]:
        """Command lines of what outlived its command, in every command of this room so far, sorted."""
        return sorted(line for process in self._processes for line in process.left)

    def signal_stop(self) -> None:
        """Tell every command's supervisor to end it, without waiting: whoever uses the room then leaves it."""
        for process in tuple(self._processes):
            process.signal_stop()

    def kill(self) -> None:
        """End every process of the room: by its supervisor, and then whoever still carries the room's environment."""
        for process in self._processes:
            process.stop()
        deadline = time.monotonic() + STOP_SECONDS
        while (strays := self._strays()) and time.monotonic() < deadline:
            for stray in strays:
                with contextlib.suppress(psutil.Error):
                    stray.kill()
            time.sleep(0.01)

    def close(self) -> None:
        """Kill everything and remove the directory. Safe to call twice."""
        self.kill()
        for process in self._processes:
            process.close()
        for _ in range(3):  # a process that is just dying may still create a file
            _remove(self.root)
            if not self.root.exists():
                break
            time.sleep(0.1)
        _live.discard(self)
        if not _live:
            _open_to_debuggers()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
        if self.root.exists():
            raise RoomError(f"{self.root}: cannot be removed; see which process still writes there, and remove it")

    def _strays(self) -> list[psutil.Process]:
        """Processes whose environment names this room's home: the marker that every process of the room inherits."""
        marker = str(self.home)
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                if process.environ().get("HOME") == marker and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found


class RoomProcess:
    """A command running in a room, below its supervisor."""

    def __init__(self, supervisor: subprocess.Popen[bytes], status: int) -> None:
        self._supervisor = supervisor
        self._status = status
        os.set_blocking(status, False)
        self._pending = b""
        self._exit: int | None = None
        self._ended_at: float | None = None
        self.stdin, self.stdout, self.stderr = supervisor.stdin, supervisor.stdout, supervisor.stderr
        self.protections: dict[str, str | None] = dict.fromkeys(PROTECTIONS, "the room did not start")
        self.left: list[str] = []
        self.left_in_memory: list[str] = []
        self.exceeded: Exceeded | None = None
        self.problem: str | None = None  # why the command could not be started

    @property
    def supervisor_pid(self) -> int:
        """The process above the command; everything that the command starts is below it."""
        return self._supervisor.pid

    @property
    def network(self) -> str:
        """ "none" where the room was cut off from the network, else why it was not."""
        reason = self.protections["network"]
        return "none" if reason is None else f"not isolated: {reason}"

    @property
    def ended_at(self) -> float | None:
        """time.monotonic() at which the command's end was seen, before anything left over was waited for."""
        return self._ended_at

    def poll(self) -> int | None:
        """Exit code once the command has ended and nothing of it is left (negative: by that signal), else None."""
        ended = self._supervisor.poll()
        self._read_status()
        if ended is None:
            return None
        if self._exit is None:  # the supervisor itself was killed
            self._exit = ended if ended < 0 else -signal.SIGKILL
        return self._exit

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; raises TimeoutError after `timeout` seconds, with the command still running."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError(f"still running after {timeout} s")
            time.sleep(0.02)
        return code

    def signal_stop(self) -> None:
        """Tell the supervisor to end the command, without waiting."""
        if self._supervisor.poll() is None:
            self._supervisor.terminate()

    def stop(self) -> None:
        """End the command and everything that it started, at once."""
        if self._supervisor.poll() is None:
            self._supervisor.terminate()
            try:
                self._supervisor.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._supervisor.kill()
                with contextlib.suppress(subprocess.TimeoutExpired):  # it waits in the kernel: nobody can end it
                    self._supervisor.wait(STOP_SECONDS)
        self.poll()

    def close(self) -> None:
        """Release the pipes."""
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        if self._status >= 0:
            os.close(self._status)
            self._status = -1

    def _read_status(self) -> None:
        while self._status >= 0:
            try:
                chunk = os.read(self._status, 65_536)
            except BlockingIOError:
                return
            if not chunk:
                return
            *lines, self._pending = (self._pending + chunk).split(b"\n")
            for line in lines:
                self._note(line)

    def _note(self, line: bytes) -> None:
        fields = json.loads(line)
        match fields.pop("fact"):
            case "protections":
                self.protections = fields["reasons"]
            case "failed":
                self.problem = fields["reason"]
            case "exit":
                self._exit, self._ended_at = fields["code"], time.monotonic()
            case "exceeded":
                self.exceeded, self._ended_at = Exceeded(**fields), time.monotonic()
            case "left":
                self.left.append(fields["command"])
            case "left in memory":
                self.left_in_memory.append(fields["name"])


def _remove_abandoned() -> None:
    """Remove rooms whose scorer was killed: it held a lock on its rooms, which the kernel has freed."""
    for root in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # of another user, or just being removed by its owner
            if time.time() - root.stat().st_mtime < ABANDONED_SECONDS:
                continue  # perhaps its owner has not locked it yet
            lock = os.open(root / OWNER, os.O_WRONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(root)
            finally:
                os.close(lock)


def _interpreter() -> list[str]:
    """Where this Python and its packages lie."""
    return [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, *site.getsitepackages()]


def _linked_from(place: Path) -> list[Path]:
    """What the symbolic links below a directory lead to: a data set may be made of links."""
    return [path.resolve() for path in _files_below(place) if path.is_symlink()] if place.is_dir() else []


def _files_below(base: Path) -> Iterator[Path]:
    """Everything below a directory but directories, as far as it can be named, MOST_FILES at most; no link followed."""
    pending, count = [base], 0
    while pending:
        directory = pending.pop()
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    count += 1
                    if count > MOST_FILES:
                        return
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(Path(entry.path))
                    else:
                        yield Path(entry.path)
        except OSError:  # a directory that is closed, or nested too deep to have a name, is itself left over
            yield directory


def _remove(root: Path) -> None:
    """Remove a directory, whatever a program made of it: closed directories, or such as are nested without end."""
    try:
        shutil.rmtree(root)
    except (OSError, RecursionError):
        for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run([*command, "--", str(root)], capture_output=True, check=False, timeout=REMOVE_SECONDS)


def _close_to_debuggers() -> None:
    """While rooms are in use, no process of the same user may look into this one or write into its memory."""
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)


def _open_to_debuggers() -> None:
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)


_stopping = threading.Event()


def stopping() -> bool:
    """Whether the scorer was asked to stop (see `guard`)."""
    return _stopping.is_set()


@contextlib.contextmanager
def guard() -> Iterator[None]:
    """Within this block SIGTERM, SIGHUP and SIGINT end every live room before they end the scorer.

    Rooms may be in use by other threads: their commands are ended, and `stopping()` turns true there, for the thread
    to leave its `with` block. The main thread raises KeyboardInterrupt (SIGINT) or SystemExit(128 + signal). Outside
    the main thread, and within another guard, it does nothing.
    """
    names = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(names[0]) is _on_stop:
        yield
        return
    _stopping.clear()
    before = {name: signal.signal(name, _on_stop) for name in names}
    try:
        yield
    finally:
        if _stopping.is_set():
            _wait_for_rooms()
        for name, handler in before.items():
            signal.signal(name, handler)


def _wait_for_rooms() -> None:
    """Let the threads leave their rooms; close what they do not leave."""
    deadline = time.monotonic() + STOP_SECONDS
    while _live and time.monotonic() < deadline:
        time.sleep(0.02)
    for room in tuple(_live):
        room.close()


def stop_all() -> None:
    """End every live room; whoever uses one gets StoppedError. For a scorer that cannot go on."""
    _stopping.set()
    for room in tuple(_live):
        room.signal_stop()


def _on_stop(number: int, _frame: FrameType | None) -> None:
    stop_all()
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)
