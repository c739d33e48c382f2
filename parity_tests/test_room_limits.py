"""What a room may use is bounded: by the kernel for each process, by its supervisor for all of them, root included."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from parity_tests.room_programs import line_of, profile, program, run_artifact
from scorer.room.bounds import OVER_LIMIT, met
from scorer.room.cleanroom import LIMITS, PROTECTIONS, Room, RoomProcess
from scorer.room.receipts import Outcome

MEBIBYTE = 1 << 20
BOTH = pytest.mark.parametrize("without", [[], list(PROTECTIONS)], ids=["protected", "unprotected"])


def run(code: str, without: list[str], **limits: int) -> tuple[RoomProcess, int, str]:
    """Run Python code in a room of these limits; the process, its exit code and its output."""
    with Room(limits=LIMITS.model_copy(update=limits), without=without) as room:
        output = room.control / "output"
        with output.open("wb") as file:
            process = room.popen([sys.executable, "-c", code], room.environment(), stdout=file, stderr=file)
            below: list[psutil.Process] = []
            deadline = time.monotonic() + 60
            while (code_of_exit := process.poll()) is None:
                assert time.monotonic() < deadline, output.read_text()
                below = psutil.Process(process.supervisor_pid).children(recursive=True) or below
                time.sleep(0.05)
        _, alive = psutil.wait_procs(below, timeout=5)
        assert alive == []
        return process, code_of_exit, output.read_text()


SHARED_OUT = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        held = bytearray(os.urandom(1024)) * (100 << 10)
        time.sleep(60)
time.sleep(60)
"""


@BOTH
def test_the_memory_of_all_processes_together_is_bounded(without: list[str]) -> None:
    process, code, _ = run(SHARED_OUT, without, memory_bytes=300 * MEBIBYTE)
    assert process.exceeded is not None
    assert (process.exceeded.limit, process.exceeded.allowed, code) == ("memory_bytes", 300 * MEBIBYTE, -9)
    assert process.exceeded.used > 300 * MEBIBYTE
    assert "held = bytearray" in process.exceeded.process
    process, code, _ = run(SHARED_OUT.replace("60)", "0.5)"), without, memory_bytes=900 * MEBIBYTE)
    assert (process.exceeded, code) == (None, 0)


@BOTH
def test_memory_that_forks_share_counts_once(without: list[str]) -> None:
    """As a data loader's workers hold their parent's tables."""
    code = SHARED_OUT.replace("for _", "held = bytearray(os.urandom(1024)) * (100 << 10)\nfor _").replace(
        "        held = bytearray(os.urandom(1024)) * (100 << 10)\n", ""
    )
    process, exit_code, _ = run(code.replace("60)", "0.7)"), without, memory_bytes=300 * MEBIBYTE)
    assert (process.exceeded, exit_code) == (None, 0)


@BOTH
def test_one_process_that_asks_for_more_is_refused_by_the_kernel(without: list[str]) -> None:
    process, code, output = run("held = bytearray(400 << 20)", without, memory_bytes=300 * MEBIBYTE)
    assert (process.exceeded, code) == (None, 1)
    assert met(output) == "memory_bytes"


def test_files_in_shared_memory_count_as_memory() -> None:
    write = 'open("/dev/shm/x", "wb").write(bytes(1 << 20) * 140)'
    hold = "import os, time; held = bytearray(os.urandom(1024)) * (180 << 10); time.sleep(20)"
    process, code, _ = run(write, [], memory_bytes=300 * MEBIBYTE)
    if process.protections["files"] is not None:
        pytest.skip(process.protections["files"])
    assert (process.exceeded, code) == (None, 0)
    process, _, _ = run(f"{write}; {hold}", [], memory_bytes=300 * MEBIBYTE)
    assert process.exceeded is not None
    assert process.exceeded.limit == "memory_bytes"
    # /tmp may hold a quarter of the memory.
    process, code, output = run('open("/tmp/x", "wb").write(bytes(1 << 20) * 90)', [], memory_bytes=300 * MEBIBYTE)
    assert (process.exceeded, code) == (None, 1)
    assert "No space left" in output


STORM = """
import os, time
for depth in range(11):  # at most 2,048 processes
    os.fork()
time.sleep(60)
"""


@BOTH
def test_a_storm_of_forks_is_counted_and_ended(without: list[str]) -> None:
    code = STORM.replace("11", "8") if without else STORM
    process, exit_code, _ = run(code, without, processes=60)
    assert process.exceeded is not None
    assert (process.exceeded.limit, process.exceeded.allowed, exit_code) == ("processes", 60, -9)
    assert process.exceeded.used > 60
    assert "for depth in range" in process.exceeded.process
    process, exit_code, _ = run(STORM.replace("11", "4").replace("60)", "0.3)"), without, processes=60)
    assert (process.exceeded, exit_code) == (None, 0)


FILES = 'held = []\nfor n in range(2000): held.append(open("/dev/null"))'
LARGE = 'file = open("x", "wb")\nfor n in range(20): file.write(bytes(1 << 20))'


@BOTH
@pytest.mark.parametrize(
    ("code", "limits", "met_limit", "exit_code"),
    [
        (FILES, {"open_files": 100}, "open_files", 1),
        (LARGE, {"file_bytes": 10 * MEBIBYTE}, "file_bytes", 1),
        ("while True: pass", {"cpu_seconds": 1}, None, -24),
    ],
    ids=["files", "file", "cpu"],
)
def test_the_kernel_keeps_the_other_limits(
    without: list[str], code: str, limits: dict[str, int], met_limit: str | None, exit_code: int
) -> None:
    _, code_of_exit, output = run(code, without, **limits)
    assert code_of_exit == exit_code
    assert met(output) == met_limit
    if met_limit is not None:
        assert run(code, without)[1:] == (0, "")


@BOTH
def test_the_disk_that_a_room_takes_is_bounded(without: list[str]) -> None:
    code = """
import os, time
for n in range(30):
    open(f"x{n}", "wb").write(os.urandom(1 << 20))
time.sleep(60)
"""
    process, _, _ = run(code, without, disk_bytes=20 * MEBIBYTE)
    assert process.exceeded is not None
    assert process.exceeded.limit == "disk_bytes"
    assert process.exceeded.used > 20 * MEBIBYTE


DEEP = """
import os
for name in ("n" * 200 for _ in range(2000)):
    os.mkdir(name)
    os.chdir(name)
open("file", "w").close()
os.chdir(os.environ["HOME"])
os.mkdir("closed")
open("closed/file", "w").close()
os.chmod("closed", 0)
"""


def test_a_tree_without_end_and_a_closed_directory_are_told_and_removed() -> None:
    with Room() as room:
        assert room.popen([sys.executable, "-c", DEEP], room.environment()).wait(60) == 0
        left = room.leftover_files()
        assert any(name.startswith("work/nnn") for name in left)
        assert any(name.startswith("home/closed") for name in left)
        root = room.root
    assert not root.exists()


def run_lane(tmp_path: Path, hook: str, **limits: int) -> Any:
    """A program's hook in a whole lane, under these limits."""
    chosen = profile().model_copy(update={"room": profile().room.model_copy(update=limits)})
    source = program(hook)
    return run_artifact(tmp_path, source, profile=chosen), source


@pytest.mark.long
def test_a_lane_names_the_limit_the_line_and_what_was_used(tmp_path: Path) -> None:
    seen, source = run_lane(tmp_path / "one", "if step == 2: held = bytearray(40 << 30)", memory_bytes=30 << 30)
    (found,) = seen.observed_findings
    assert seen.outcome is Outcome.FAILED
    assert found["code"] == OVER_LIMIT
    assert found["place"] == {"file": "train.py", "line": line_of(source, "40 << 30")}
    assert "memory (memory_bytes): 32,212,254,720 allowed" in found["message"]
    assert len(seen.ranks[0].updates) == 3

    hook = 'if step == 2:\n    import subprocess\n    held = [subprocess.Popen(["sleep", "9"]) for _ in range(40)]'
    seen, source = run_lane(tmp_path / "two", hook + "\n    time.sleep(9) or held[0].wait()", processes=30)
    codes = {found["code"]: found for found in seen.observed_findings}
    assert seen.outcome is Outcome.FAILED
    assert codes[OVER_LIMIT]["evidence"]["limit"] == "processes"
    assert codes[OVER_LIMIT]["evidence"]["used"] > 30
    assert "most of it by `sleep 9`" in codes[OVER_LIMIT]["message"]
    assert seen.problem.startswith("processes at once (processes): ")
    assert len(seen.ranks[0].updates) == 3


def test_a_limit_of_the_callers_own_that_is_lower_stays() -> None:
    """The supervisor asks for no more than its own hard limit."""
    code = f"""
import resource, subprocess, sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))
from scorer.room.cleanroom import Room
with Room() as room:
    inside = "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))"
    process = room.popen([sys.executable, "-c", inside], room.environment(), stdout=subprocess.PIPE)
    print(process.stdout.read().decode(), process.wait(60))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    assert done.stdout.split() == ["(300,", "300)", "0"], done.stderr
