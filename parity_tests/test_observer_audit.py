"""What a program reads, imports, asks for and connects to is told with its line, and ruled by the profile."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from parity_tests.room_programs import Alone, line_of, plan, profile, program, quick, run_alone, run_artifact, small_kit
from scorer.room.cleanroom import PROTECTIONS
from scorer.room.lane import LaneSpec, run_lane
from scorer.room.receipts import Clock, Lane, Outcome

READS = """
if step == 0:
    open("/etc/passwd").close()
    os.listdir("/var")
    import numpy
    numpy.loadtxt("DATA/table.txt")
    open("/proc/self/environ").close()
    import ctypes
    ctypes.CDLL(None).getenv
    os.environb.get(b"BYTES")
    list(os.environ)
    import socket
    try:
        socket.getaddrinfo("example.org", 80)
    except OSError:
        pass
    import yaml
    os.chmod("train.py", 0o644)
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Alone, str, str]:
    data = tmp_path_factory.mktemp("elsewhere")
    (data / "table.txt").write_text("1 2\n")
    source = program(READS.replace("DATA", str(data)))
    return run_alone(tmp_path_factory.mktemp("run"), source), source, str(data)


def test_every_use_is_told_with_its_line(told: tuple[Alone, str, str]) -> None:
    seen, source, data = told
    assert seen.exit_code == 0, seen.output
    expected = [
        ("read", "/etc/passwd", '"/etc/passwd"'),
        ("read", "/var", 'os.listdir("/var")'),
        ("read", f"{data}/table.txt", "numpy.loadtxt"),
        ("read-environment", "*", '"/proc/self/environ"'),
        ("read-environment", "*", "ctypes.CDLL(None).getenv"),
        ("read-environment", "BYTES", "os.environb"),
        ("read-environment", "*", "list(os.environ)"),
        ("connect", "example.org", "getaddrinfo"),
        ("import", "yaml", "import yaml"),
        ("write", "train.py", "os.chmod"),
    ]
    for kind, detail, text in expected:
        assert (kind, detail, line_of(source, text)) in seen.events
    assert {detail for kind, detail, _ in seen.events if kind == "read"} == {detail for _, detail, _ in expected[:3]}
    assert {detail for kind, detail, _ in seen.events if kind == "import"} == {"prepare", "yaml"}


ORDINARY = """
if step == 0:
    import argparse, inspect, json, locale, logging, platform, random, tempfile, uuid, zoneinfo
    import numpy, torch.utils.data
    open("/proc/cpuinfo").read(), open("/proc/self/status").read(), open("/dev/urandom", "rb").read(4)
    os.listdir("/sys/devices/system/cpu"), os.cpu_count(), platform.machine(), platform.freedesktop_os_release()
    locale.setlocale(locale.LC_ALL, ""), random.SystemRandom().random(), zoneinfo.ZoneInfo("UTC")
    inspect.getsource(Model), inspect.getsource(torch.nn.Linear), torch.__config__.show()
    os.makedirs("out", exist_ok=True)
    numpy.save("out/table.npy", numpy.zeros(3)), numpy.load("out/table.npy"), open("train.py").read()
    torch.save({}, "out/x.pt"), torch.load("out/x.pt")
    with tempfile.TemporaryFile() as file: file.write(b"x")
    with tempfile.NamedTemporaryFile() as file: open(file.name).read()
    import multiprocessing.shared_memory as shared
    memory = shared.SharedMemory(create=True, size=64)
    memory.close(), memory.unlink()
    loader = torch.utils.data.DataLoader(torch.arange(8.0), batch_size=2)
    assert len(list(loader)) == 4
    os.remove("out/table.npy"), os.remove("out/x.pt")
"""


@pytest.mark.long
def test_what_ordinary_programs_read_is_no_finding(tmp_path: Path) -> None:
    seen = run_artifact(tmp_path, program(ORDINARY))
    assert seen.outcome is Outcome.COMPLETE, seen.problem
    assert seen.observed_findings == []


@pytest.mark.long
def test_uses_are_ruled_by_the_profile(tmp_path: Path, told: tuple[Alone, str, str]) -> None:
    data = tmp_path / "kit" / "data"
    for split in ("train", "public_val"):
        (data / split).mkdir(parents=True)
        (data / split / "shard.txt").write_text("1 2\n")
    hook = f"""
if step == 0:
    open("/etc/passwd").close()
    open("{data}/train/shard.txt").close()
    open("{data}/public_val/shard.txt").close()
    import yaml
"""
    source = program(hook)
    seen = run_artifact(tmp_path, source)
    assert seen.outcome is Outcome.COMPLETE, seen.problem
    found = {found["code"]: found for found in seen.observed_findings}
    assert {code: finding["place"]["line"] for code, finding in found.items()} == {
        "RUN019": line_of(source, "/etc/passwd"),
        "RUN020": line_of(source, "public_val/shard.txt"),
        "RUN021": line_of(source, "import yaml"),
    }
    assert found["RUN020"]["message"].endswith("read <kit data>/public_val/shard.txt")
    chosen = profile()
    machine = chosen.machine.model_copy(update={"packages": [*chosen.machine.packages, "yaml"]})
    review = chosen.review.model_copy(update={"validation_data": ["other"]})
    other = chosen.model_copy(update={"machine": machine, "review": review})
    seen = run_artifact(tmp_path, source, profile=other)
    assert [found["code"] for found in seen.observed_findings] == ["RUN019"]


@pytest.mark.long
def test_files_of_others_are_not_there_and_the_try_is_told(tmp_path: Path) -> None:
    secret = tmp_path / "weights.bin"
    secret.write_text("pre-trained")
    hook = f"""
if step == 0:
    try:
        print("weights:", open("{secret}").read())
    except OSError as error:
        print("weights:", type(error).__name__)
"""
    for without in ((), PROTECTIONS):
        seen = run_artifact(tmp_path / str(len(without)), program(hook), without=without)
        assert [found["code"] for found in seen.observed_findings] == ["RUN019"]
        visible = seen.protections["files"] is not None
        assert ("weights: pre-trained" if visible else "weights: FileNotFoundError") in seen.log_tail


@pytest.mark.long
def test_the_split_that_scores_is_not_there_while_a_program_trains(tmp_path: Path) -> None:
    data = tmp_path / "kit" / "data"
    official = profile().evaluation.official.split
    for split in ("train", official):
        (data / split).mkdir(parents=True)
        (data / split / "shard").write_text("tokens")
    hook = f'if step == 0: print("seen:", *(os.listdir("{data}/" + split) for split in ("train", "{official}")))'
    seen = run_artifact(tmp_path, program(hook))
    if seen.protections["files"] is not None:
        pytest.skip(seen.protections["files"])
    assert "seen: ['shard'] []" in seen.log_tail
    assert [found["code"] for found in seen.observed_findings] == ["RUN020"]


def test_a_recipe_finds_what_its_author_keeps_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, root = tmp_path / "home", tmp_path / "recipe"
    for directory in (home, root):
        directory.mkdir()
    (home / "table.txt").write_text("of the author")
    monkeypatch.setenv("HOME", str(home))
    source = program(f'if step == 0: print("table:", open("{home}/table.txt").read())')
    (root / "train.py").write_text(source)
    spec = LaneSpec(
        lane=Lane.LOCAL, plan=quick(plan()), source=root, clock=Clock(kind="virtual", seconds_per_update=0.5)
    )
    seen = run_lane(spec, profile(), small_kit(tmp_path / "kit"), tmp_path / "keep")
    assert (seen.outcome, seen.observed_findings) == (Outcome.COMPLETE, [])
    assert "table: of the author" in seen.log_tail


def test_a_program_that_is_watched_reads_the_environment_as_ever(tmp_path: Path) -> None:
    hook = "if step == 0: print(sorted(map(os.fsdecode, os.environb)) == sorted(os.environ), len(dict(os.environ)) > 3)"
    seen = run_alone(tmp_path / "watched", program(hook))
    plain = run_alone(tmp_path / "plain", program(hook), observed=False)
    assert "True True" in seen.output
    assert seen.output == plain.output
    assert os.environ is not os.environb
    assert sys.platform == "linux"
