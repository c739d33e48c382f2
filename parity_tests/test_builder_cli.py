"""The builder's command line: what it writes and says, its exit status, and that a refusal changes nothing."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from builder import cli, files
from parity_tests.test_builder_cases import CASES, prepare

ROOT = Path(__file__).parents[1]
CONFIG = ROOT / "recipe/configs/small.yaml"
NAMES = {"train.py", "train.py.map", "launch-command.txt", "manifest.json"}


def builder(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    """Run the command line in this process; its exit status."""
    monkeypatch.setattr(sys, "argv", ["builder", *map(str, arguments)])
    try:
        cli.main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@pytest.fixture(scope="module")
def produced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("produced") / "artifact"
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert builder(monkeypatch, "produce", "--config", CONFIG, "-o", out) == 0
    return out


@pytest.fixture
def artifact(produced: Path, tmp_path: Path) -> Path:
    """An artifact of the test's own."""
    return Path(shutil.copytree(produced, tmp_path / "build/artifact"))


@pytest.fixture
def little(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configuration of a package of 29 lines, for what is so whatever is built: the recipe takes seconds."""
    case = CASES / "knobs_set_on_the_command_line"
    return prepare(case, tmp_path_factory.mktemp("little") / "package").with_name("config.yaml")


@pytest.fixture
def little_artifact(little: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is built of it."""
    out = tmp_path / "build/artifact"
    assert builder(monkeypatch, "produce", "--config", little, "-o", out) == 0
    return out


def snapshot(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_artifact_holds_four_files_that_agree(artifact: Path) -> None:
    assert {path.name for path in artifact.iterdir()} == NAMES
    manifest = json.loads((artifact / "manifest.json").read_text(encoding="utf-8"))
    train = (artifact / "train.py").read_bytes()
    assert manifest["artifact_sha256"] == hashlib.sha256(train).hexdigest()
    assert manifest["size_bytes"] == len(train) < manifest["size_limit_bytes"]
    assert manifest["launch_command"] + "\n" == (artifact / "launch-command.txt").read_text(encoding="utf-8")
    line = CONFIG.read_text(encoding="utf-8").split("\n").index("depth: 2") + 1
    assert manifest["knobs"]["depth"] == {
        "value": 2,
        "origin": f"file recipe/configs/small.yaml:{line}",
        "kind": "config",
    }
    assert manifest["kernels"]["rms_norm_forward"]["launches_per_update"] == 5
    for name in ("recipe/model.py", "recipe/build.yaml", "recipe/configs/small.yaml"):
        assert manifest["sources"][name] == hashlib.sha256((ROOT / name).read_bytes()).hexdigest()
    assert str(ROOT) not in (artifact / "manifest.json").read_text(encoding="utf-8")


def test_every_line_of_the_map_leads_to_its_source(artifact: Path) -> None:
    document = json.loads((artifact / "train.py.map").read_text(encoding="utf-8"))
    lines = (artifact / "train.py").read_text(encoding="utf-8").splitlines()
    assert document["version"] == 1
    assert len(document["lines"]) == len(lines)
    sources = [(ROOT / name).read_text(encoding="utf-8").splitlines() for name in document["sources"]]
    verbatim = 0
    for text, place in zip(lines, document["lines"], strict=True):
        if place is not None:
            verbatim += text.strip() == sources[place[0]][place[1] - 1].strip()
    assert verbatim > 0.75 * sum(bool(text.strip()) for text in lines)
    definition = next(i for i, text in enumerate(lines) if text.startswith("class GPT("))
    place = document["lines"][definition]
    assert document["sources"][place[0]] == "recipe/model.py"
    assert sources[place[0]][place[1] - 1] == lines[definition]


def test_where_translates_a_line(
    artifact: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (artifact / "train.py").read_text(encoding="utf-8").splitlines()
    line = next(i for i, text in enumerate(lines, 1) if text.startswith("class GPT("))
    source = (ROOT / "recipe/model.py").read_text(encoding="utf-8").splitlines()
    expected = next(i for i, text in enumerate(source, 1) if text.startswith("class GPT("))
    for place in (f"{artifact}:{line}", f"{artifact / 'train.py'}:{line}"):
        assert builder(monkeypatch, "where", place) == 0
        assert capsys.readouterr().out == f"recipe/model.py:{expected}\n"
    assert builder(monkeypatch, "where", f"{artifact}:1") == 0
    assert capsys.readouterr().out == "a line that the builder wrote\n"
    for wrong in (f"{artifact}:999999", f"{artifact}:x", str(artifact), "nowhere:3"):
        assert builder(monkeypatch, "where", wrong) == 2


def test_check_says_whether_sources_still_build_it(
    little: Path, little_artifact: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check = ("produce", "--config", little, "--check", little_artifact)
    before = snapshot(little_artifact)
    assert builder(monkeypatch, *check) == 0
    assert builder(monkeypatch, *check, "--set", "width=3") == 1
    assert "train.py:" in capsys.readouterr().out
    train = little_artifact / "train.py"
    lines = train.read_text(encoding="utf-8").split("\n")
    lines[9] += "  # edited"
    train.write_text("\n".join(lines), encoding="utf-8")
    assert builder(monkeypatch, *check) == 1
    said = capsys.readouterr().out
    assert f"{train}:10: differs" in said
    assert "# edited" in said
    train.write_bytes(before["train.py"])
    (little_artifact / "launch-command.txt").unlink()
    assert builder(monkeypatch, *check) == 1
    assert "launch-command.txt: missing" in capsys.readouterr().out


def test_check_ignores_git_state_only(
    artifact: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = artifact / "manifest.json"
    document = json.loads(manifest.read_text(encoding="utf-8"))
    document["git"] = {"commit": "0" * 40, "dirty": True}
    manifest.write_text(json.dumps(document), encoding="utf-8")
    assert builder(monkeypatch, "produce", "--config", CONFIG, "--check", artifact) == 0
    document["knobs"]["depth"]["value"] = 9
    manifest.write_text(json.dumps(document), encoding="utf-8")
    assert builder(monkeypatch, "produce", "--config", CONFIG, "--check", artifact) == 1
    assert "`knobs` differs" in capsys.readouterr().out


def test_refusal_writes_nothing(
    artifact: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = snapshot(artifact)
    assert (
        builder(monkeypatch, "produce", "--config", CONFIG, "--set", "dept=3", "--set", "width=x", "-o", artifact) == 2
    )
    said = capsys.readouterr().err
    assert "BLD004 unknown knob `dept`" in said
    assert "did you mean `depth`?" in said
    assert snapshot(artifact) == before
    assert [path.name for path in artifact.parent.iterdir()] == [artifact.name]


def test_full_disk_leaves_the_old_artifact(
    little: Path, little_artifact: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = snapshot(little_artifact)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    assert builder(monkeypatch, "produce", "--config", little, "--set", "width=3", "-o", little_artifact) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert snapshot(little_artifact) == before
    assert [path.name for path in little_artifact.parent.iterdir()] == [little_artifact.name]
    monkeypatch.undo()
    assert builder(monkeypatch, "produce", "--config", little, "--set", "width=3", "-o", little_artifact) == 0
    assert snapshot(little_artifact)["train.py"] != before["train.py"]


def test_directory_of_something_else_is_not_replaced(
    little: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    assert builder(monkeypatch, "produce", "--config", little, "-o", tmp_path) == 2
    assert "notes.txt" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert builder(monkeypatch, "produce", "--config", little, "-o", tmp_path / "notes.txt") == 2


def test_arguments_that_do_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert builder(monkeypatch, "produce", "--config", CONFIG, "-o", tmp_path, "--check", tmp_path) == 2
    assert builder(monkeypatch, "produce", "-o", tmp_path) == 2
    capsys.readouterr()
    assert (
        builder(
            monkeypatch,
            "produce",
            "--config",
            tmp_path / "absent.yaml",
            "--settings",
            ROOT / "recipe/build.yaml",
            "-o",
            tmp_path / "a",
        )
        == 2
    )
    assert "absent.yaml: BLD003 cannot be read" in capsys.readouterr().err
    assert builder(monkeypatch, "produce", "--config", tmp_path / "absent.yaml", "-o", tmp_path / "a") == 2
    assert "absent.yaml: BLD003 there is no such file" in capsys.readouterr().err
    alone = tmp_path / "deep" / "alone.yaml"
    alone.parent.mkdir()
    alone.write_text("depth: 2\n", "utf-8")
    assert builder(monkeypatch, "produce", "--config", alone, "-o", tmp_path / "a") == 2
    assert "alone.yaml: BLD002 no build settings belong to it" in capsys.readouterr().err


def test_written_files_follow_the_umask(little: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = os.umask(0o027)
    try:
        assert builder(monkeypatch, "produce", "--config", little, "-o", tmp_path / "a") == 0
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o750
    assert stat.S_IMODE((tmp_path / "a/train.py").stat().st_mode) == 0o640


def test_module_runs_and_explains_itself(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "builder", "produce", "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    for word in ("--config", "--settings", "--set", "--output", "--check"):
        assert word in done.stdout
    command = [
        sys.executable,
        "-m",
        "builder",
        "produce",
        "--config",
        "recipe/configs/small.yaml",
        "-o",
        str(tmp_path / "a"),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "rms_norm_forward" in done.stdout
    assert "command line" not in done.stdout
    assert "recipe/configs/small.yaml:2" in done.stdout


def test_another_contest_is_named_in_the_artifact_and_an_unknown_one_is_refused(
    artifact: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = artifact.parent / "other"
    named = ("--contest", "trainium-frontier-phase1")
    assert builder(monkeypatch, "produce", "--config", CONFIG, *named, "-o", other) == 0
    names = [
        json.loads((d / "manifest.json").read_text(encoding="utf-8"))["contest"]["name"] for d in (artifact, other)
    ]
    assert names == ["embedded", "trainium-frontier-phase1"]
    assert builder(monkeypatch, "produce", "--config", CONFIG, "--contest", "nope", "-o", other.parent / "none") == 2
    assert "nope.yaml: no such contest profile; known ones: embedded" in capsys.readouterr().err
    assert not (other.parent / "none").exists()


def test_a_process_count_that_the_contest_does_not_allow_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("produce", "--config", CONFIG, "-o", tmp_path / "out", "--set")
    assert builder(monkeypatch, *words, "world_size=3") == 2
    assert "BLD046 the launch command says --nproc_per_node=3; the contest allows 1, 2, 4, 8" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert builder(monkeypatch, *words, "world_size=4") == 0


@pytest.mark.parametrize(
    "text", ['{"sources": ["a.py"', '{"lines": 3, "sources": []}', '{"lines": [[5, 1]], "sources": []}']
)
def test_a_source_map_that_cannot_be_read_is_named(
    artifact: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (artifact / "train.py.map").write_text(text, encoding="utf-8")
    assert builder(monkeypatch, "where", f"{artifact}:1") == 2
    said = capsys.readouterr().err
    assert "train.py.map: BLD047 not a source map" in said
    assert "build the artifact again" in said
