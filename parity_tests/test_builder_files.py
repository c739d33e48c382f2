"""Writing artifacts: links, kills, interruptions, several builds at once, readers that go away, disks that are full."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from builder import files
from builder.errors import BuildError
from builder.files import NAMES, write_directory

ROOT = Path(__file__).parents[1]
PRODUCE = (sys.executable, "-m", "builder", "produce", "--config", "recipe/configs/small.yaml")


def content(mark: str) -> dict[str, bytes]:
    return {name: f"{mark} {name}\n".encode() * 200 for name in NAMES}


def read(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_a_link_to_a_directory_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    link.symlink_to(real)
    for mark in ("first", "second"):
        write_directory(link, content(mark))
        assert read(real) == content(mark)
        assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


def test_the_working_directory_can_be_written_when_it_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    write_directory(Path(), content("x"))
    assert read(tmp_path / "here") == content("x")


@pytest.mark.parametrize("step", range(5))
def test_an_interruption_leaves_an_artifact(step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C before, between and behind the two renames: the directory is the old one or the new one, whole."""
    directory = tmp_path / "artifact"
    write_directory(directory, content("old"))
    rename, done = Path.rename, 0

    def stop(self: Path, target: Path) -> Path:
        nonlocal done
        before = done == step
        done += 1
        if before:
            raise KeyboardInterrupt
        result = rename(self, target)
        done += 1
        if done - 1 == step:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(Path, "rename", stop)
    stopped = False
    try:
        write_directory(directory, content("new"))
    except KeyboardInterrupt:
        stopped = True
    assert stopped == (step < 4)
    monkeypatch.undo()
    assert read(directory) == content("new" if step >= 3 else "old")
    write_directory(directory, content("next"))
    assert read(directory) == content("next")


def test_a_file_that_comes_while_writing_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "artifact"
    write_directory(directory, content("old"))
    fsync: Callable[[int], None] = os.fsync

    def note(descriptor: int) -> None:
        (directory / "notes.txt").write_text("mine", encoding="utf-8")
        fsync(descriptor)

    monkeypatch.setattr(files.os, "fsync", note)
    with pytest.raises(BuildError, match=r"holds 'notes\.txt'"):
        write_directory(directory, content("new"))
    assert read(directory) == {**content("old"), "notes.txt": b"mine"}
    assert [path.name for path in tmp_path.iterdir()] == ["artifact"]


def test_builds_at_once_into_one_directory_leave_one_of_them_whole(tmp_path: Path) -> None:
    directory = tmp_path / "artifact"
    problems: list[BaseException] = []
    seen: list[set[bytes]] = []

    def work(mark: str) -> None:
        try:
            for _ in range(20):
                write_directory(directory, content(mark))
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(f"build {number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        try:
            handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        try:  # the directory may be replaced meanwhile, but what was opened stays one build's
            names = os.listdir(handle)  # noqa: PTH208  # a directory that is open
            opened = [os.open(name, os.O_RDONLY, dir_fd=handle) for name in names]
            texts = {name: os.read(descriptor, 10_000) for name, descriptor in zip(names, opened, strict=True)}
            for descriptor in opened:
                os.close(descriptor)
            if len(names) == len(NAMES):
                seen.append({text.split(b" ", 2)[1] for text in texts.values()})
        except FileNotFoundError:
            pass
        finally:
            os.close(handle)
    for thread in threads:
        thread.join()
    assert problems == []
    assert seen
    assert all(len(marks) == 1 for marks in seen)
    assert len({text.split(b" ", 2)[1] for text in read(directory).values()}) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["artifact"]


def test_a_kill_leaves_the_old_artifact_or_the_new_one(tmp_path: Path) -> None:
    """Killed anywhere, and built again: always whole."""
    out = tmp_path / "artifact"
    assert subprocess.run([*PRODUCE, "-o", str(out)], cwd=ROOT, capture_output=True, check=False).returncode == 0
    old = read(out)
    for delay in (0.2, 0.5, 0.8, 1.1):
        process = subprocess.Popen(
            [*PRODUCE, "--set", "depth=3", "-o", str(out)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        threading.Timer(delay, process.send_signal, (signal.SIGKILL,)).start()
        process.communicate()
        assert set(read(out)) == set(old)
        assert len({read(out)[name] == old[name] for name in ("train.py", "manifest.json")}) == 1


def test_a_reader_that_goes_away_ends_the_program_quietly(tmp_path: Path) -> None:
    out = tmp_path / "artifact"
    assert subprocess.run([*PRODUCE, "-o", str(out)], cwd=ROOT, capture_output=True, check=False).returncode == 0
    for words in ((*PRODUCE, "--check", str(out)), (*PRODUCE, "-o", str(out))):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(words, cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, check=False)
        os.close(writing)
        assert done.returncode == -signal.SIGPIPE, "1 would say that the directory differs"
        assert done.stderr == b""
    assert set(read(out)) == set(NAMES)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_report_that_cannot_be_printed_is_told(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*PRODUCE, "-o", str(tmp_path / "a")], cwd=ROOT, stdout=full, stderr=subprocess.PIPE, check=False, text=True
        )
    assert done.returncode == 2
    assert done.stderr == "builder: standard output: No space left on device\n"
    assert set(read(tmp_path / "a")) == set(NAMES)


def test_somebodys_own_program_is_not_written_over(tmp_path: Path) -> None:
    """A script that lies alone in its directory, as hand-kept ones do; the control is what a build made."""
    (tmp_path / "train.py").write_text("print(1)\n", encoding="utf-8")
    with pytest.raises(BuildError, match=r"holds 'train\.py', which no build made"):
        write_directory(tmp_path, content("new"))
    assert read(tmp_path) == {"train.py": b"print(1)\n"}
    write_directory(tmp_path / "artifact", content("old"))
    write_directory(tmp_path / "artifact", content("new"))
    assert read(tmp_path / "artifact") == content("new")


def test_an_artifact_is_not_written_over_the_program_it_is_built_from(tmp_path: Path) -> None:
    write_directory(tmp_path, content("old"))
    (tmp_path / "train.py").write_text("def load_for_eval(checkpoint_path, device):\n    return 1\n", encoding="utf-8")
    launch = "NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=1 train.py"
    before = read(tmp_path)
    command = [sys.executable, "-m", "builder", "produce", "--entry", str(tmp_path / "train.py"), "--launch", launch]
    made = {}
    for output in (tmp_path, tmp_path / "elsewhere"):
        done = subprocess.run([*command, "-o", str(output)], cwd=ROOT, capture_output=True, text=True, check=False)
        made[output] = done.returncode, done.stderr
    assert made[tmp_path][0] == 2
    assert "is the one of train.py, the program itself" in made[tmp_path][1]
    assert made[tmp_path / "elsewhere"] == (0, "")
    assert {name: before[name] for name in NAMES} == {name: (tmp_path / name).read_bytes() for name in NAMES}
