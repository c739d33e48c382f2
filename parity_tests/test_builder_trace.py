"""`builder trace`, `builder where` with a range, and `builder diff`.

Logs are folders under builder_logs/cases: log.txt, the expected.txt that it becomes, and source/ where the recipe is
another than builder_logs/source. `python parity_tests/test_builder_trace.py` writes what is expected, for review.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from builder.diff import as_text, diff
from builder.errors import BuildError
from builder.places import where
from builder.trace import Tracer
from parity_tests.test_builder_cli import ROOT, builder

LOGS = Path(__file__).parent / "builder_logs"
ARTIFACT = LOGS / "artifact"
NAMES = sorted(path.parent.name for path in LOGS.glob("cases/*/log.txt"))


def translated(name: str) -> tuple[str, int]:
    case = LOGS / "cases" / name
    own = case / "source"
    tracer = Tracer(ARTIFACT, own if own.is_dir() else LOGS / "source")
    text = (case / "log.txt").read_bytes().decode("utf-8", "surrogateescape")
    return "".join(tracer.run(text.splitlines(keepends=True))), tracer.strangers


@pytest.mark.parametrize("name", NAMES)
def test_log(name: str) -> None:
    text, strangers = translated(name)
    assert text == (LOGS / "cases" / name / "expected.txt").read_text(encoding="utf-8")
    assert strangers == (1 if name == "another_builds_log" else 0)


def test_bytes_that_are_no_text_and_line_ends_pass_through() -> None:
    log = b"\xff\xfe train.py:20\r\nno line feed at the end: train.py:27"
    done = subprocess.run(
        [sys.executable, "-m", "builder", "trace", str(ARTIFACT)], cwd=ROOT, input=log, capture_output=True, check=True
    )
    assert done.stdout == b"\xff\xfe pkg/model.py:11\r\nno line feed at the end: pkg/model.py:18"


def test_lines_come_out_as_they_go_in() -> None:
    tracer = Tracer(ARTIFACT, LOGS / "source")
    assert list(tracer.line("loss 4.1\n")) == ["loss 4.1\n"]
    assert list(tracer.line('  File "/room/train.py", line 20, in divide\n')) == []
    assert len(list(tracer.line("    return (total * 4) / (parts - 1)\n"))) == 2


def test_a_real_traceback_is_the_recipes_own(tmp_path: Path) -> None:
    """The artifact's translated traceback names the places and texts that the recipe's own traceback names."""
    shutil.copy(ARTIFACT / "train.py", tmp_path)

    def frames(text: str) -> list[str]:
        lines = [line for line in text.splitlines() if not set(line) <= set(" ^~")]
        return [line.replace(f"{LOGS / 'source'}/", "") for line in lines if "runpy" not in line and "_run" not in line]

    def run(*program: str, cwd: Path) -> str:
        command = [sys.executable, "-B", "-X", "no_debug_ranges", *program]
        return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False).stderr

    artifact = run("train.py", cwd=tmp_path)
    recipe = run("-m", "pkg.train", cwd=LOGS / "source")
    ours = "".join(Tracer(ARTIFACT, LOGS / "source").run(artifact.splitlines(keepends=True)))
    assert frames(ours) == frames(recipe)
    assert frames(artifact) != frames(recipe)


def test_where_takes_a_range() -> None:
    assert where(f"{ARTIFACT}:20") == where(f"{ARTIFACT / 'train.py'}:20") == ["pkg/model.py:11"]
    rows = where(f"{ARTIFACT}:1-54")
    assert rows[0] == "1-9: the builder"
    assert "18: pkg/model.py:8" in rows
    assert "19-37: pkg/model.py:10-28" in rows
    assert rows[-1] == "50-54: pkg/train.py:17-21"


@pytest.mark.parametrize("place", ["x:1", "{}:0", "{}:2000", "{}:9-3", "{}:1-2000", "{}:a", "{}"])
def test_where_refuses_what_is_no_place(place: str) -> None:
    with pytest.raises(BuildError, match="BLD047"):
        where(place.format(ARTIFACT))


def changed(tmp_path: Path, name: str, **changes: object) -> Path:
    manifest = json.loads((ARTIFACT / "manifest.json").read_text(encoding="utf-8"))
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps({**manifest, **changes}), encoding="utf-8")
    return path


def test_diff_shows_what_changed_and_nothing_else(tmp_path: Path) -> None:
    assert diff(ARTIFACT, ARTIFACT / "manifest.json") == []
    assert diff(ARTIFACT, changed(tmp_path, "git", git={"commit": "0" * 40, "dirty": True})) == []
    knobs = {
        "width": {"value": 4.0, "origin": "--set"},
        "strict": {"value": True, "origin": "elsewhere"},
        "FF_DEPTH": {"value": 9, "origin": "environment", "kind": "environment"},
    }
    other = changed(tmp_path, "other", knobs=knobs, launch_command="torchrun train.py", artifact_sha256="f" * 64)
    assert [(row.what, row.first, row.second) for row in diff(ARTIFACT, other)][:3] == [
        ("width", "4", "4.0"),
        ("FF_DEPTH", "-", "9"),
        ("launch command", "torchrun --standalone train.py", "torchrun train.py"),
    ]
    kernels = {"norm": {"launches_per_update": 5, "place": "pkg/model.py:3"}}
    assert [row.what for row in diff(ARTIFACT, changed(tmp_path, "k", kernels=kernels))] == ["kernel norm"]
    sources = {"pkg/model.py": "1" * 64}
    rows = diff(ARTIFACT, changed(tmp_path, "s", sources=sources))
    assert {"source pkg/model.py", "source pkg/train.py"} <= {row.what for row in rows}


def test_diff_says_when_only_the_code_differs(tmp_path: Path) -> None:
    rows = diff(ARTIFACT, changed(tmp_path, "edited", artifact_sha256="f" * 64))
    assert [row.what for row in rows] == ["train.py"]
    assert "only the code differs" in rows[0].origin
    lines = as_text(rows)
    assert len(lines) == 2
    assert lines[0].split() == ["knob", "A", "B", "origin"]


def test_diff_exit_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert builder(monkeypatch, "diff", ARTIFACT, ARTIFACT) == 0
    assert "same artifact" in capsys.readouterr().out
    assert builder(monkeypatch, "diff", ARTIFACT, changed(tmp_path, "edited", artifact_sha256="f" * 64)) == 1
    assert "\x1b" not in capsys.readouterr().out
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    for bad in (tmp_path / "bad.json", tmp_path / "none", changed(tmp_path, "list", knobs=[])):
        assert builder(monkeypatch, "diff", ARTIFACT, bad) == 2
        assert "BLD047" in capsys.readouterr().err


if __name__ == "__main__":
    for case in NAMES:
        (LOGS / "cases" / case / "expected.txt").write_text(translated(case)[0], encoding="utf-8")
