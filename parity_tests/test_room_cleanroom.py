"""The clean room lets nothing in, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from scorer.room.cleanroom import PROTECTIONS, Room

ROOT = Path(__file__).parents[1]


def run(room: Room, code: str, timeout: float = 30) -> tuple[int, str]:
    """Run Python code in the room; its exit code and output."""
    output = room.control / "output"
    with output.open("wb") as file:
        process = room.popen([sys.executable, "-c", code], room.environment(), stdout=file, stderr=file)
        return process.wait(timeout), output.read_text()


def gone(pid: int) -> bool:
    """Whether a process has ended, within a few seconds."""
    for _ in range(100):
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False


def running(*words: str) -> list[int]:
    """Processes of this command line."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.cmdline() == [*words] and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


def test_nothing_of_the_scorers_environment_is_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURON_CC_FLAGS", "--optlevel=1")
    monkeypatch.setenv("PYTHONSTARTUP", "/x")
    with Room() as room:
        _, seen = run(room, "import os; print(sorted(os.environ)); print(os.getcwd()); print(os.listdir())")
        work, home = str(room.work), str(room.home)
        assert room.environment(variables={"A": "1"})["A"] == "1"
        assert room.environment(cache_directories={"B": "compiled"})["B"] == f"{room.caches}/compiled"
    names, cwd, files = seen.splitlines()
    assert set(eval(names)) == {
        "PATH", "HOME", "TMPDIR", "LANG", "PYTHONPATH", "XDG_CACHE_HOME",
    }  # fmt: skip
    assert cwd == work
    assert home.startswith(str(Path(work).parent))
    assert files == "[]"


def test_the_exit_code_or_signal_of_the_command_comes_back() -> None:
    with Room() as room:
        assert run(room, "raise SystemExit(7)")[0] == 7
        assert run(room, "print('fine')") == (0, "fine\n")
        assert run(room, "import os; os.kill(os.getpid(), 9)")[0] == -9
        missing = room.popen(["no-such-command"], room.environment())
        assert missing.wait(30) == 127
        assert missing.problem is not None
        assert "no-such-command" in missing.problem


@pytest.mark.parametrize("without", [(), PROTECTIONS], ids=["protected", "unprotected"])
def test_what_outlives_the_command_is_reported_and_killed(without: Sequence[str]) -> None:
    """A grandchild in a session of its own, with an empty environment, orphaned on purpose."""
    seconds = f"{300 + os.getpid() / 1e6}"
    code = f"""
import os, subprocess
if os.fork() == 0:
    os.setsid()
    subprocess.Popen(["/bin/sleep", "{seconds}"], env={{}})
    os._exit(0)
os.wait()
"""
    with Room(without=without) as room:
        exit_code, _ = run(room, code)
        assert exit_code == 0
        assert room.leftover_processes() == [f"/bin/sleep {seconds}"]
        assert not running("/bin/sleep", seconds)
    with Room(without=without) as room:
        assert run(room, "import subprocess; subprocess.run(['/bin/sleep', '0'])")[0] == 0
        assert room.leftover_processes() == []


def test_a_command_that_lies_in_the_temporary_directory_is_nothing_that_it_left() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as directory, Room() as room:
        program = Path(directory) / "program.py"
        program.write_text("open('/tmp/own', 'w').close()\n")
        process = room.popen([sys.executable, str(program)], room.environment())
        assert process.wait(30) == 0
        assert [name for name in room.leftover_files() if directory in name] == []
        if process.protections["files"] is None:
            assert room.leftover_files() == ["/tmp/own"]
    Path("/tmp/own").unlink(missing_ok=True)  # where the kernel gives no room a /tmp of its own


def test_leftover_files_are_told_but_not_those_that_were_given_or_allowed() -> None:
    code = """
import pathlib
pathlib.Path("out").mkdir()
for name in ("out/a", "b", "../home/.c", "../tmp/d"):
    pathlib.Path(name).touch()
"""
    with Room() as room:
        room.give("train.py", b"x")
        assert not os.access(room.work / "train.py", os.W_OK) or os.getuid() == 0
        assert (room.work / "train.py").stat().st_mode & 0o777 == 0o444
        run(room, code)
        assert room.leftover_files(allowed=["out"]) == ["home/.c", "tmp/d", "work/b"]
        assert room.leftover_files() == ["home/.c", "tmp/d", "work/b", "work/out/a"]


def test_a_command_can_be_bounded_in_time() -> None:
    with Room() as room:
        process = room.popen([sys.executable, "-c", "import time; time.sleep(300)"], room.environment())
        with pytest.raises(TimeoutError):
            process.wait(0.5)
        pids = [child.pid for child in psutil.Process(process.supervisor_pid).children(recursive=True)]
        assert pids
        process.stop()
        assert all(map(gone, pids))


def test_the_room_is_gone_after_an_exception_and_so_are_its_processes() -> None:
    seen: list[int] = []
    rooms: list[Path] = []

    def fail() -> None:
        with Room() as room:
            rooms.append(room.root)
            process = room.popen([sys.executable, "-c", "import time; time.sleep(300)"], room.environment())
            time.sleep(0.5)
            seen.extend(child.pid for child in psutil.Process(process.supervisor_pid).children(recursive=True))
            raise RuntimeError("something broke")

    with pytest.raises(RuntimeError, match="something broke"):
        fail()
    assert seen
    assert all(map(gone, seen))
    assert not rooms[0].exists()


SCORER = r"""
import sys, threading, time
from scorer.room.cleanroom import Room, StoppedError, guard, stopping
def lane():
    with Room() as room:
        process = room.popen([sys.executable, "-c", "import time; time.sleep(300)"], room.environment())
        print(f"{room.root} {process.supervisor_pid}\n", end="", flush=True)
        while process.poll() is None and not stopping():
            time.sleep(0.05)
with guard():
    threads = [threading.Thread(target=lane) for _ in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
print("ran to the end")
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_rooms_do_not_outlive_a_scorer_that_is_ended(tmp_path: Path, number: int) -> None:
    scorer = subprocess.Popen(
        [sys.executable, "-c", SCORER],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert scorer.stdout is not None
    rooms = [scorer.stdout.readline().split() for _ in range(2)]
    supervisors = [int(pid) for _, pid in rooms]
    pids: list[int] = []
    for _ in range(200):  # until the command runs in both
        below = [psutil.Process(pid).children(recursive=True) for pid in supervisors]
        pids = [*supervisors, *(child.pid for children in below for child in children)]
        sleeping = running(sys.executable, "-c", "import time; time.sleep(300)")
        if all(any(child.pid in sleeping for child in children) for children in below):
            break
        time.sleep(0.05)
    assert len(pids) >= 4
    scorer.send_signal(number)
    rest, _ = scorer.communicate(timeout=30)
    assert rest == ""
    assert scorer.returncode != 0
    assert all(map(gone, pids))
    if number != signal.SIGKILL:  # nobody is left to remove the directory then
        assert not any(Path(root).exists() for root, _ in rooms)


def test_a_room_that_a_killed_scorer_left_is_removed_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("scorer.room.cleanroom.ABANDONED_SECONDS", -1.0)
    left = "import os, signal; from scorer.room.cleanroom import Room; Room(); os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", left], cwd=ROOT, env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
    (abandoned,) = tmp_path.iterdir()
    with Room() as room:
        assert list(tmp_path.iterdir()) == [room.root]
        with Room() as other:
            assert sorted(tmp_path.iterdir()) == sorted([room.root, other.root])
    assert not abandoned.exists()


def test_the_network_is_cut_off_but_for_loopback() -> None:
    code = """
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname(), 5).close()
    print("loopback")
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    try:
        s.connect(("192.0.2.1", 9)); print("reachable")
    except OSError as error:
        print("unreachable")
print(socket.gethostbyname(socket.gethostname()))
"""
    with Room() as room:
        _, output = run(room, code)
        process = room.popen([sys.executable, "-c", ""], room.environment())
        process.wait(30)
        if process.network != "none":
            pytest.skip(process.network)
    assert output.split() == ["loopback", "unreachable", "127.0.0.1"]
    with Room(without=["network"]) as room:
        process = room.popen([sys.executable, "-c", ""], room.environment())
        process.wait(30)
        assert process.network == "not isolated: not asked for"


def test_two_rooms_at_once_do_not_touch_each_other() -> None:
    """Both listen on the same port and write the same names; the first to close does not disturb the other."""
    code = """
import pathlib, socket, sys, time
server = socket.create_server(("127.0.0.1", 45671))
for place in (".", "../home", "../tmp"):
    assert not list(pathlib.Path(place).iterdir()), place
    pathlib.Path(place, "name").write_text(sys.argv[0])
time.sleep(float(pathlib.Path("../control/seconds").read_text()))
print("done")
"""

    def once(seconds: float) -> tuple[int, str, str]:
        with Room() as room:
            (room.control / "seconds").write_text(str(seconds))
            return *run(room, code), room.root.name

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(once, [0.5, 1.5])
    if "Address already in use" in first[1] + second[1]:
        pytest.skip("this machine permits no network namespace")
    assert first[:2] == second[:2] == (0, "done\n")
    assert first[2] != second[2]


def test_a_core_dump_is_not_written_and_limits_hold_inside() -> None:
    with Room() as room:
        _, output = run(
            room, "import resource as r; print(r.getrlimit(r.RLIMIT_CORE), r.getrlimit(r.RLIMIT_FSIZE)[0] > 0)"
        )
    assert output == "(0, 0) True\n"


def test_pipes_end_when_the_command_ends_even_if_something_is_left() -> None:
    with Room() as room:
        process = room.popen(
            [sys.executable, "-c", "print(input() + '!')"],
            room.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"hello\n")
        process.stdin.close()
        assert process.stdout.read() == b"hello!\n"
        assert process.wait(30) == 0
