"""What a command in a clean room cannot see, change or outlive; and that it is told where the kernel permits less."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from scorer.room.cleanroom import PROTECTIONS, Room
from scorer.room.supervisor import kernel

ROOT = Path(__file__).parents[1]


def run(room: Room, code: str, *words: str, timeout: float = 60) -> list[str]:
    """Run Python code in the room; the lines that it printed."""
    output = room.control / "output"
    with output.open("wb") as file:
        command = [sys.executable, "-c", code, *words]
        process = room.popen(command, room.environment(), stdout=file, stderr=file)
        process.wait(timeout)
    return output.read_text().splitlines()


@pytest.fixture
def room() -> Iterator[Room]:
    """A room with every protection; the test is skipped where the kernel permits fewer, with its reason."""
    with Room() as found:
        process = found.popen(["true"], found.environment())
        process.wait(60)
        missing = {name: why for name, why in process.protections.items() if why is not None}
        if missing:
            pytest.skip(f"this machine does not permit {missing}")
        yield found


def test_each_protection_is_told_whether_it_holds_or_why_not(room: Room) -> None:
    for without in ([], ["ipc"], ["files", "user"], list(PROTECTIONS)):
        with Room(without=without) as other:
            process = other.popen(["true"], other.environment())
            assert process.wait(60) == 0
            missing = [name for name, reason in process.protections.items() if reason is not None]
            # Without a user namespace only root may enter the others.
            others = list(PROTECTIONS) if "user" in without and os.getuid() != 0 else without
            assert sorted(missing) == sorted(others)
            assert {process.protections[name] for name in without} <= {"not asked for"}


def test_the_command_works_without_any_protection_as_with_all() -> None:
    code = "import os, sys; print(sorted(os.environ)); print(os.getcwd()[-5:]); sys.exit(3)"
    seen = []
    for without in ([], PROTECTIONS):
        with Room(without=without) as found:
            process = found.popen([sys.executable, "-c", code], found.environment(), stdout=subprocess.PIPE)
            assert process.stdout is not None
            seen.append((process.stdout.read(), process.wait(60)))
    assert seen[0] == seen[1]
    assert seen[0][1] == 3


LOOK = """
import os, sys
for place in sys.argv[1:]:
    try:
        print(sorted(os.listdir(place)) if os.path.isdir(place) else os.path.exists(place))
    except OSError as error:
        print(type(error).__name__)
"""


def test_homes_other_rooms_and_the_scorers_sources_are_not_there_but_what_the_command_needs_is(
    room: Room, tmp_path: Path
) -> None:
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "prepare.py").write_text("VALUE = 7\n")
    (tmp_path / "secret.txt").write_text("x")
    shard = tmp_path / "data" / "shard"
    (tmp_path / "linked").mkdir()
    shard.parent.mkdir()
    shard.write_text("tokens")
    (tmp_path / "linked" / "shard").symlink_to(shard)
    with Room() as other, Room(visible=[tmp_path / "linked"]) as mine:
        places = [str(place) for place in (other.root, mine.root, tmp_path, Path.home(), ROOT / "parity_tests")]
        seen = run(mine, LOOK, *places[:2])
        assert seen[1].startswith("['caches', 'control'")
        # The command named both rooms, so both are there; what nobody names is not.
        hidden = run(mine, LOOK.replace("sys.argv[1:]", f"{[places[0], *places[2:]]!r}"))
        assert hidden[0] == "False"
        assert hidden[1] == "['data', 'linked']"  # the file secret.txt is not there
        assert ".bashrc" not in hidden[2]
        assert hidden[3] == "False"
        environment = mine.environment(pythonpath=[tmp_path / "kit"])
        code = f"import prepare; print(prepare.VALUE, open({str(tmp_path / 'linked' / 'shard')!r}).read())"
        process = mine.popen([sys.executable, "-c", code], environment, stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.read() == b"7 tokens\n"


def test_a_secret_is_hidden_also_inside_what_is_visible(room: Room, tmp_path: Path) -> None:
    (tmp_path / "data" / "private").mkdir(parents=True)
    (tmp_path / "data" / "private" / "shard").write_text("targets")
    (tmp_path / "data" / "train").write_text("tokens")
    with Room(visible=[tmp_path / "data"], secret=[tmp_path / "data" / "private"]) as found:
        seen = run(found, LOOK.replace("sys.argv[1:]", f"{[str(tmp_path / 'data'), str(tmp_path / 'data/private')]!r}"))
    assert seen == ["['private', 'train']", "[]"]


WRITE = """
import os, sys
for path in sys.argv[1:]:
    try:
        os.chmod(path, 0o666)
    except OSError:
        pass
    for action in (lambda: open(path, "a").close(), lambda: os.remove(path), lambda: os.rename(path, path + ".old")):
        try:
            action()
            print("done", path)
        except OSError as error:
            print("refused")
open("mine", "w").write("x"); open("/tmp/mine", "w").write("x"); open("/dev/null", "w").write("x")
"""


def test_inputs_cannot_be_changed_by_anybody_root_included(room: Room, tmp_path: Path) -> None:
    kit = tmp_path / "prepare.py"
    kit.write_text("x")
    given = [room.give("train.py", b"x"), room.give("out/final.pt", b"y")]
    note = room.control / "note"
    note.write_text("z")
    paths = [*map(str, given), str(kit), str(note), sys.executable, "/etc/hostname"]
    assert run(room, WRITE, *paths) == ["refused"] * 3 * len(paths)
    assert [path.read_bytes() for path in (*given, kit, note)] == [b"x", b"y", b"x", b"z"]
    assert (room.work / "mine").read_text() == "x"
    assert not Path("/tmp/mine").exists()


OTHERS = """
import ctypes, os, sys
judge, supervisor = int(sys.argv[1]), int(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
for pid in (judge, supervisor, os.getppid(), 1):
    print(pid == 0, end=" ")
    try:
        os.kill(pid, 0) if pid > 1 else print("own" if pid == 1 else "none", end=" ")
    except OSError as error:
        print(type(error).__name__, end=" ")
    print(libc.ptrace(16, pid, 0, 0) if pid > 0 else "-", end=" ")  # PTRACE_ATTACH
    try:
        open(f"/proc/{pid}/mem", "rb+").read(1)
        print("memory")
    except OSError as error:
        print(type(error).__name__)
print(sorted(int(name) for name in os.listdir("/proc") if name.isdecimal()) == sorted({1, os.getpid()}))
"""


def test_the_scorer_and_its_supervisor_cannot_be_seen_signalled_or_traced(room: Room) -> None:
    sleeper = room.popen([sys.executable, "-c", "import time; time.sleep(60)"], room.environment())
    lines = run(room, OTHERS, str(os.getpid() + 10**6), str(sleeper.supervisor_pid + 10**6))
    assert lines[0] == lines[1] == "False ProcessLookupError -1 FileNotFoundError"
    # Its parent is process 1 of the room: it can be told from the others, and neither traced nor read.
    assert lines[2] == lines[3] == "False own -1 PermissionError"
    assert lines[4] == "True"
    assert sleeper.poll() is None


def test_process_one_heeds_no_signal_of_the_command(room: Room) -> None:
    code = """
import os, signal, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL, signal.SIGSTOP):
    for _ in range(50):
        os.kill(1, number)
time.sleep(0.3)
print("still here")
"""
    assert run(room, code) == ["still here"]


@pytest.mark.parametrize("without", [[], ["processes"], list(PROTECTIONS)], ids=["all", "no processes", "none"])
def test_a_scorer_with_an_open_room_cannot_be_traced_by_its_own_user(without: list[str]) -> None:
    """Where the kernel permits no namespace, this is what keeps a submission out of the scorer's memory."""
    code = f"""
import ctypes
print(ctypes.CDLL(None).ptrace(16, {os.getpid()}, 0, 0))
try:
    open("/proc/{os.getpid()}/mem", "rb+")
    print("memory")
except OSError:
    print("closed")
"""
    with Room(without=without) as found:
        assert run(found, code) == ["-1", "closed"]
    assert kernel_dumpable() == 1


def kernel_dumpable() -> int:
    """PR_GET_DUMPABLE of this process."""
    import ctypes

    return ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)


PRIVILEGES = """
import os
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
names = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
print({status[name].strip() for name in names}, status["NoNewPrivs"].strip())
print(os.getuid(), os.getpgid(0) == os.getsid(0))
"""


@pytest.mark.parametrize("without", [[], list(PROTECTIONS)], ids=["protected", "unprotected"])
def test_the_command_has_no_privilege_and_a_process_group_of_its_own(without: list[str]) -> None:
    with Room(without=without) as found:
        capabilities, rest = run(found, PRIVILEGES)
    if os.getuid() == 0:
        assert capabilities == "{'0000000000000000'} 1"
    assert capabilities.endswith(" 1")
    assert rest == f"{os.getuid()} True"


ESCAPES = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def tried(what, action):
    try:
        print(what, "refused" if action() in (-1, None) else "DONE")
    except OSError:
        print(what, "refused")
tried("mount", lambda: libc.mount(b"tmpfs", b"/etc", b"tmpfs", 0, None))
tried("remount", lambda: libc.mount(None, b"/", None, 32 | 4096, None))
tried("umount", lambda: libc.umount2(b"/tmp", 2))
tried("switch", lambda: open("/proc/sys/kernel/core_pattern", "r+"))
tried("sysrq", lambda: open("/proc/sysrq-trigger", "w"))
tried("chroot", lambda: os.chroot("/etc"))
tried("host name", lambda: libc.sethostname(b"x", 1))
tried("host root", lambda: os.listdir("/proc/1/root"))
for name in os.listdir("/sys/block"):
    if os.path.exists(f"/dev/{name}"):
        with open(f"/dev/{name}", "rb") as disk:
            print("disk", "DONE" if disk.read(1) else "refused")
print("terminals", "DONE" if os.path.isdir("/dev/pts") and os.listdir("/dev/pts") else "refused")
"""


def test_the_ways_out_that_root_has_are_closed(room: Room) -> None:
    lines = run(room, ESCAPES)
    assert len(lines) >= 9
    assert [line for line in lines if not line.endswith("refused")] == []


def test_descriptors_of_the_scorer_are_not_inherited_but_those_that_are_passed(tmp_path: Path) -> None:
    secret = os.open(tmp_path / "secret", os.O_RDWR | os.O_CREAT)
    os.set_inheritable(secret, True)
    mine, theirs = socket.socketpair()
    reading, writing = os.pipe()
    try:
        with tempfile.TemporaryFile() as memory, Room() as found:
            memory.truncate(8)
            passed = (theirs.fileno(), writing, memory.fileno())
            code = """
import mmap, os, socket, sys
channel, pipe, memory = map(int, sys.argv[1:])
listed = map(int, os.listdir("/proc/self/fd"))
print({number for number in listed if os.path.exists(f"/proc/self/fd/{number}")} == {0, 1, 2, channel, pipe, memory})
socket.socket(fileno=os.dup(channel)).sendall(b"reply")
os.write(pipe, b"note")
mmap.mmap(memory, 8)[:] = b"logits!!"
"""
            output = found.control / "output"
            with output.open("wb") as file:
                command = [sys.executable, "-c", code, *map(str, passed)]
                process = found.popen(command, found.environment(), stdout=file, stderr=file, pass_fds=passed)
                assert process.wait(60) == 0, output.read_text()
            assert output.read_text() == "True\n"
            assert mine.recv(10) == b"reply"
            assert os.read(reading, 10) == b"note"
            assert memory.read() == b"logits!!"
    finally:
        for descriptor in (secret, reading, writing):
            os.close(descriptor)
        mine.close()
        theirs.close()


SHARED = """
import ctypes, os, socket, sys, time
key = int(sys.argv[1])
for path in ("/tmp/parity-x", "/dev/shm/parity-x"):
    assert not os.path.exists(path), path
    open(path, "w").write("x")
libc = ctypes.CDLL(None)
print(libc.shmget(key, 4096, 0o1600 | 0o2000) >= 0)  # IPC_CREAT | IPC_EXCL
servers = [socket.create_server(("127.0.0.1", port)) for port in (29500, 29400)]
abstract = socket.socket(socket.AF_UNIX)
abstract.bind(chr(0) + "parity-x")
time.sleep(1)
print("done")
"""


def test_two_rooms_at_once_share_no_port_name_file_segment_or_key(room: Room) -> None:
    with Room() as other:
        processes = []
        for found in (room, other):
            command = [sys.executable, "-c", SHARED, str(0x50415249)]
            processes.append(
                found.popen(command, found.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            )
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.read() == b"True\ndone\n"
            assert process.wait(60) == 0
        left = ["/dev/shm/parity-x", "/tmp/parity-x", "System V shm 0"]
        assert sorted(room.leftover_files()) == sorted(other.leftover_files()) == sorted(left)
    assert not Path("/tmp/parity-x").exists()
    assert not Path("/dev/shm/parity-x").exists()


RANKS = """
import os, sys, torch, torch.distributed as dist, torch.multiprocessing as multiprocessing
def double(shared):
    shared.mul_(2)
if __name__ == "__main__":
    dist.init_process_group("gloo")
    total = torch.ones(1)
    dist.all_reduce(total)
    shared = torch.full((1 << 16,), 3.0).share_memory_()
    worker = multiprocessing.get_context("spawn").Process(target=double, args=(shared,))
    worker.start()
    worker.join()
    os.write(1, f"rank of {int(total)}, {int(shared[0])}\\n".encode())
    dist.destroy_process_group()
"""


@pytest.mark.long
@pytest.mark.parametrize("ranks", [1, 4])
def test_the_launcher_its_ranks_and_their_shared_memory_work_in_the_room(ranks: int) -> None:
    """Two ranks are what the lanes' tests run."""
    with Room() as found:
        script = found.give("train.py", RANKS.encode())
        output = found.control / "output"
        with output.open("wb") as file:
            command = ["torchrun", "--standalone", f"--nproc_per_node={ranks}", script.name]
            environment = found.environment(variables={"OMP_NUM_THREADS": "1"})
            process = found.popen(command, environment, stdout=file, stderr=file)
            code = process.wait(300)
        assert code == 0, output.read_text()
        said = [line for line in output.read_text().splitlines() if line.startswith("rank")]
        assert said == [f"rank of {ranks}, 6"] * ranks
        assert (found.leftover_files(), process.left) == ([], [])


@pytest.mark.long
@pytest.mark.parametrize("number", ["SIGKILL", "SIGSTOP"])
@pytest.mark.parametrize("without", [[], list(PROTECTIONS)], ids=["protected", "unprotected"])
def test_the_room_ends_though_its_supervisor_is_killed_or_stopped(without: list[str], number: str) -> None:
    import signal

    with Room(without=without) as found:
        process = found.popen([sys.executable, "-c", "import time; time.sleep(300)"], found.environment())
        time.sleep(0.7)
        below = psutil.Process(process.supervisor_pid).children(recursive=True)
        assert below
        os.kill(process.supervisor_pid, signal.Signals[number])
        began = time.monotonic()
        found.kill()
        assert time.monotonic() - began < 15
        _, alive = psutil.wait_procs(below, timeout=10)
        assert alive == []


def test_entering_costs_little() -> None:
    """Processor time of supervisor, probe and command together, in starts of a bare interpreter on this machine."""
    took: list[float] = []
    bare: list[float] = []

    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    with Room() as found:
        environment = found.environment()
        for _ in range(5):
            before = spent()
            assert found.popen(["true"], environment).wait(60) == 0
            between = spent()
            subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)
            took.append(between - before)
            bare.append(spent() - between)
    assert min(took) < 12 * min(bare), (took, bare)


def test_the_kernels_calls_say_what_they_attempted() -> None:
    with pytest.raises(OSError, match="mount bind on /nonexistent"):
        kernel.mount("/nonexistent", "/nonexistent", None, kernel.MS_BIND)
    with pytest.raises(OSError, match="open_tree /nonexistent"):
        kernel.open_tree("/nonexistent")
