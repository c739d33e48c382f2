"""A lane leaves a receipt, whatever the program does."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from parity_tests.room_programs import line_of, program, run_artifact
from parity_tests.room_programs import profile as short_profile
from scorer.room import receipts, timing
from scorer.room.cleanroom import PROTECTIONS
from scorer.room.receipts import Clock, Lane, Outcome, Receipt

TWO_RANKS = program().replace(
    "    torch.manual_seed(7)", '    dist.init_process_group("gloo")\n    torch.manual_seed(7)'
)


def codes(receipt: Receipt) -> list[str]:
    return [found["code"] for found in receipt.observed_findings]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> tuple[Receipt, Path, list[str]]:
    """Two ranks, six updates, watched; the receipt, where it was run, and its progress."""
    directory = tmp_path_factory.mktemp("clean")
    told: list[str] = []
    return run_artifact(directory, TWO_RANKS, nproc=2, torchrun=True, progress=told.append), directory, told


def test_a_clean_run_is_complete_and_raises_nothing(clean: tuple[Receipt, Path, list[str]]) -> None:
    receipt, _, told = clean
    assert (receipt.outcome, receipt.exit_code, receipt.problem) == (Outcome.COMPLETE, 0, None)
    assert receipt.observed_findings == []
    assert receipt.left_files == receipt.left_processes == []
    assert [line.split(",")[0] for line in told] == [f"artifact: update {n}" for n in range(6)]


def test_both_ranks_are_recorded_with_the_same_parameters(clean: tuple[Receipt, Path, list[str]]) -> None:
    first, second = clean[0].ranks
    assert (first.rank, second.rank, first.world_size) == (0, 1, 2)
    assert first.neuron == "stand-in"  # which torch brings by itself, as it brings the real one
    window = short_profile().lockstep.window_updates
    for mine, other in zip(first.updates[:window], second.updates[:window], strict=True):
        assert mine.parameter_hashes == other.parameter_hashes
        assert mine.batch_hashes != other.batch_hashes
        assert mine.losses != other.losses
    assert first.updates[window].parameter_hashes == {}
    assert first.census_update == short_profile().lockstep.census_update
    assert first.census


def test_the_checkpoint_and_the_log_are_kept_and_described(clean: tuple[Receipt, Path, list[str]]) -> None:
    receipt, directory, _ = clean
    kept = directory / "keep" / "out" / "final.pt"
    assert receipt.checkpoint is not None
    assert receipt.checkpoint.path == "out/final.pt"
    assert receipt.checkpoint.sha256 == hashlib.sha256(kept.read_bytes()).hexdigest()
    assert receipt.checkpoint.readable
    assert receipt.checkpoint.tensors["up.weight"] == "float32[16,8]"
    assert receipt.checkpoint.meta == {"step": 6}
    assert receipt.summary == {"num_steps": "6"}
    assert receipt.log_steps[0]["step"] == "00000"
    assert receipt.log_steps[0]["tok/s"] == "1,234"
    assert "step 00005" in (directory / "keep" / "log.txt").read_text()


def test_the_parts_of_the_time_add_up(clean: tuple[Receipt, Path, list[str]]) -> None:
    time = clean[0].time
    assert time is not None
    assert min(time.start_up, time.train, time.tail) > 0
    assert time.start_up + time.train + time.tail == time.total
    assert sum(time.parts.values()) == time.total
    assert {name for name, seconds in time.parts.items() if seconds} == {*timing.PARTS} - {timing.EVALUATION}


def test_the_most_memory_of_each_rank_is_told(clean: tuple[Receipt, Path, list[str]]) -> None:
    peaks = [rank.peak_bytes for rank in clean[0].ranks]
    assert all(peak is not None and 50 << 20 < peak < 8 << 30 for peak in peaks), (
        peaks
    )  # torch alone takes more than 50 MiB


def test_a_receipt_names_no_path_of_this_machine(clean: tuple[Receipt, Path, list[str]], tmp_path: Path) -> None:
    receipt, directory, _ = clean
    environment = receipt.ranks[0].environment_start
    assert environment["HOME"] == "<room>/home"
    assert environment["NEURON_COMPETITION_R1_CACHE_DIR"] == "<kit data>"
    assert environment["NEURON_LOGICAL_NC_CONFIG"] == "2"
    receipts.write(receipt, tmp_path / "receipt.json")
    text = (tmp_path / "receipt.json").read_text()
    assert str(directory) not in text
    assert re.findall(rf"(?<![>\w]){tempfile.gettempdir()}/", text) == []
    assert receipts.read(tmp_path / "receipt.json") == receipt


@pytest.mark.long
def test_a_second_run_records_the_same_and_the_control_differs(
    clean: tuple[Receipt, Path, list[str]], tmp_path: Path
) -> None:
    receipt = clean[0]
    again = run_artifact(tmp_path / "again", TWO_RANKS, nproc=2)
    control = run_artifact(
        tmp_path / "control", TWO_RANKS, nproc=2, lane=Lane.CONTROL, perturb=True, stop_after_window=True
    )
    assert receipt.checkpoint is not None
    assert again.checkpoint is not None
    assert again.checkpoint.sha256 == receipt.checkpoint.sha256
    for one, two, other in zip(receipt.ranks, again.ranks, control.ranks, strict=True):
        assert [update.losses for update in one.updates] == [update.losses for update in two.updates]
        assert one.updates[0].losses == other.updates[0].losses
        assert one.updates[1].losses != other.updates[1].losses
        assert len(other.updates) == short_profile().lockstep.window_updates
    assert (control.outcome, control.exit_code) == (Outcome.COMPLETE, 0)
    assert control.checkpoint is None
    assert codes(control) == []


def test_a_rehearsal_has_the_real_clock_and_no_hashes(tmp_path: Path) -> None:
    source = program('print("clock", time.monotonic() < 1024.0 + 3.5 and time.monotonic() >= 1024.0)')
    seen = run_artifact(tmp_path, source, lane=Lane.REHEARSAL, clock=Clock(kind="real"))
    (rank,) = seen.ranks
    assert len(rank.updates) == 6
    assert all(not update.parameter_hashes for update in rank.updates)
    assert rank.census_update is None
    assert "clock True" not in "\n".join(seen.log_tail)


@pytest.mark.long
def test_an_exception_in_one_rank_is_named_with_its_line(tmp_path: Path) -> None:
    source = TWO_RANKS.replace("    pass\n", '    if (step, rank) == (2, 1): raise ValueError("no luck")\n')
    seen = run_artifact(tmp_path, source, nproc=2, torchrun=True)
    assert (seen.outcome, seen.exit_code) == (Outcome.FAILED, 1)
    assert seen.problem == "rank 1: ValueError: no luck"
    assert seen.problem_site is not None
    assert (seen.problem_site.file, seen.problem_site.line) == ("train.py", line_of(source, "no luck"))
    assert codes(seen) == ["RUN001"]
    assert seen.observed_findings[0]["place"] == {"file": "train.py", "line": line_of(source, "no luck")}
    assert len(seen.ranks[1].updates) == 3
    assert seen.checkpoint is None


def test_a_missing_module_is_a_finding_of_its_own(tmp_path: Path) -> None:
    source = program().replace("import prepare\n", "import prepare\nimport recipe_of_mine\n")
    seen = run_artifact(tmp_path, source)
    assert codes(seen) == ["RUN003"]
    assert seen.observed_findings[0]["place"] == {"file": "train.py", "line": line_of(source, "import recipe_of_mine")}


@pytest.mark.long
def test_a_killed_rank_is_told_as_such_and_its_record_is_kept(tmp_path: Path) -> None:
    source = TWO_RANKS.replace("    pass\n", "    if (step, rank) == (2, 1): os.kill(os.getpid(), 9)\n")
    seen = run_artifact(tmp_path, source, nproc=2, torchrun=True)
    assert seen.outcome is Outcome.FAILED
    assert seen.problem == "rank 1 was killed by SIGKILL"
    assert codes(seen) == ["RUN001"]
    assert len(seen.ranks[1].updates) == 3


def test_a_run_that_does_not_end_is_ended_and_its_updates_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    limit = short_profile().budget.run_timeout_seconds

    def monotonic() -> float:
        """As long as the limit passes in the moment in which both updates are told."""
        return time.monotonic() + (limit if len(told) == 2 else 0.0)

    monkeypatch.setattr("scorer.room.lane.time", SimpleNamespace(monotonic=monotonic, sleep=time.sleep))
    hang = "import threading\nif step == 1: threading.Event().wait()"
    seen = run_artifact(tmp_path, program(hang), progress=told.append)
    assert (seen.outcome, seen.exit_code) == (Outcome.TIMED_OUT, None)
    assert codes(seen) == ["RUN002"]
    assert seen.problem is not None
    assert f"{limit:g} s" in seen.problem
    assert len(seen.ranks[0].updates) == 2


@pytest.mark.long
def test_conduct_that_reviewers_refuse_is_found_once_with_its_line(tmp_path: Path) -> None:
    hook = """
if step == 0:
    import subprocess, socket, sys
    open("notes.txt", "w").close()
    subprocess.Popen(["/bin/sleep", "300"], start_new_session=True, env={})
    try:
        socket.create_connection(("127.0.0.1", 9))
    except OSError:
        pass
    try:
        open("train.py", "a").write("# edited")
    except OSError:
        print("train.py is protected")
"""
    source = TWO_RANKS.replace("    pass\n", "".join(f"    {line}\n" for line in hook.splitlines()))
    seen = run_artifact(tmp_path, source, nproc=2)
    assert seen.outcome is Outcome.COMPLETE
    assert sorted(codes(seen)) == ["RUN004", "RUN004", "RUN005", "RUN008", "RUN009"]
    written = [found for found in seen.observed_findings if found["code"] == "RUN004"]
    assert {found["place"]["line"] for found in written} == {
        line_of(source, 'open("notes.txt"'),
        line_of(source, '"a").write'),
    }
    assert seen.left_files == ["work/notes.txt"]
    assert seen.left_processes == ["/bin/sleep 300", "/bin/sleep 300"]
    assert seen.log_tail.count("train.py is protected") == 2


@pytest.mark.long
def test_a_program_that_changes_its_own_file_is_found_where_nothing_protects_the_file(tmp_path: Path) -> None:
    hook = 'if step == 0: os.chmod("train.py", 0o644); open("train.py", "a").write("# edited")'
    seen = run_artifact(tmp_path, program(hook), without=PROTECTIONS)
    assert seen.outcome is Outcome.COMPLETE
    assert sorted(codes(seen)) == ["RUN004", "RUN013"]
    assert set(seen.protections.values()) == {"not asked for"}


@pytest.mark.long
def test_no_checkpoint_after_a_good_end_is_a_finding_and_a_stale_one_is_not_taken(tmp_path: Path) -> None:
    stale = tmp_path / "keep" / "out" / "final.pt"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(b"of another run")
    seen = run_artifact(tmp_path, program().replace("        save(model, steps)\n", ""))
    assert seen.outcome is Outcome.COMPLETE
    assert codes(seen) == ["RUN007"]
    assert seen.checkpoint is None
    assert not stale.exists()


@pytest.mark.long
def test_a_pickled_class_is_never_loaded(tmp_path: Path) -> None:
    source = program().replace('"model_config": {}', '"model_config": Config()')
    seen = run_artifact(tmp_path, source)
    assert seen.checkpoint is not None
    assert not seen.checkpoint.readable
    assert seen.checkpoint.problem is not None
    assert seen.checkpoint.tensors == {}


@pytest.mark.long
def test_code_from_outside_the_room_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an editable installation of the project would let it be."""
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "recipe_of_mine.py").write_text("X = 1\n")
    hook = f"import sys\nif step == 0:\n    sys.path.append({str(outside)!r})\n    import recipe_of_mine"
    seen = run_artifact(tmp_path / "run", program(hook))
    if seen.protections["files"] is None:  # a room hides what lies outside
        assert codes(seen) == ["RUN003"]
        seen = run_artifact(tmp_path / "again", program(hook), without=PROTECTIONS)
    assert codes(seen) == ["RUN010"]


@pytest.mark.long
def test_a_rank_that_leaves_without_a_record_fails_the_lane(tmp_path: Path) -> None:
    seen = run_artifact(tmp_path, program("if step == 5: os._exit(0)"))
    assert seen.outcome is Outcome.FAILED
    assert codes(seen) == ["RUN011"]
    assert len(seen.ranks[0].updates) == 6


@pytest.mark.long
def test_a_program_that_writes_into_its_record_gets_none(tmp_path: Path) -> None:
    hook = """
import json
if step == 3:
    records = json.load(open(os.environ["SUBMISSION_PARITY_OBSERVE"]))["records"]
    open(records + "/rank-0.jsonl", "a").write("{}" + chr(10))
"""
    seen = run_artifact(tmp_path, program(hook))
    assert seen.outcome is Outcome.FAILED
    assert codes(seen) == ["RUN011"]
    assert seen.ranks == []


@pytest.mark.long
def test_of_a_runaway_log_the_ends_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scorer.room.lane.LONGEST_LOG_BYTES", 2000)
    seen = run_artifact(tmp_path, program('print("x" * 997)'))
    kept = (tmp_path / "keep" / "log.txt").read_text()
    assert len(kept) < 2100
    assert "bytes left out" in kept
    assert seen.summary == {"num_steps": "6"}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB, where this machine lets us have one."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system can be mounted by root only")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.long
def test_a_full_disk_is_named(tmp_path: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
    hook = 'os.makedirs("out", exist_ok=True)\nif step == 2: open("out/big", "wb").write(bytes(8 << 20))'
    seen = run_artifact(tmp_path / "run", program(hook))
    assert seen.outcome is Outcome.FAILED
    assert seen.problem is not None
    assert "No space left" in seen.problem or "disk" in seen.problem
    assert codes(seen) == ["RUN001"]
    assert len(seen.ranks[0].updates) >= 2
    assert list(small_disk.iterdir()) == []


@pytest.mark.long
def test_no_room_to_keep_the_checkpoint_is_named(
    tmp_path: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (small_disk / "filler").write_bytes(bytes((4 << 20) - 8192))
    source = program().replace('"model_config": {}', '"model_config": {"size": torch.zeros(65536)}')
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "keep").symlink_to(small_disk)
    seen = run_artifact(tmp_path / "run", source)
    assert seen.outcome is Outcome.FAILED
    assert seen.problem is not None
    assert "No space left" in seen.problem
    assert not (small_disk / "out" / "final.pt").exists()
