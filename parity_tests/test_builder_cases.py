"""The builder's cases, one folder each under builder_cases/: an input, and the train.py or the error that it must give.

    input/            what is built: a package with its entry `pkg/train.py`, or a script `train.py` and its siblings
    config.yaml       knob values; set.txt: `--set` arguments, one a line; variables.env: an environment file;
                      launch.txt: the launch string, with the variables and flags that the source is run with
    build.yaml        build settings; the usual ones (see `prepare`) when absent
    strip-comments.txt  when it is there, comments are stripped
    contest.yaml      changes to the contest of builder_cases/contest.yaml
    not-run.txt       why the programs are not run
    expected/         train.py, or error.txt; and warnings.txt, knobs.txt, launch-command.txt where they matter

A case that builds is also run: the package, the artifact as `__main__` from an empty directory, and the artifact loaded
by path under another name; all three must print the same. `python parity_tests/test_builder_cases.py [CASE ...]` writes
what is expected, for review in the diff.
"""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from builder import produce
from builder.errors import BuildError
from builder.produce import Build, Request

CASES = Path(__file__).parent / "builder_cases"
PROFILE = Path(__file__).parents[1] / "scorer/contests/embedded.yaml"
NAMES = sorted(path.parent.name for path in CASES.glob("*/input"))

BY_PATH = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("submission", "train.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.main()
"""


def merge(base: Any, changes: Any) -> Any:
    if isinstance(base, dict) and isinstance(changes, dict):
        return {**base, **{key: merge(base.get(key), value) for key, value in changes.items()}}
    return changes


@functools.cache  # most cases change nothing of it
def profile_text(more: str = "") -> str:
    """The cases' contest profile with further changes (YAML), as YAML."""
    profile = yaml.safe_load(PROFILE.read_text(encoding="utf-8"))
    for changes in ((CASES / "contest.yaml").read_text(encoding="utf-8"), more):
        if changes:
            profile = merge(profile, yaml.safe_load(changes))
    return yaml.safe_dump(profile)


def prepare(case: Path, room: Path) -> Path:
    """Copy a case into a room of its own, with the settings that it does not state; returns the build settings."""
    shutil.copytree(case / "input", room, dirs_exist_ok=True)
    changes = case / "contest.yaml"
    text = profile_text(changes.read_text(encoding="utf-8") if changes.exists() else "")
    (room / "contest.yaml").write_text(text, encoding="utf-8")
    for name in ("build.yaml", "config.yaml"):
        if (case / name).exists():
            shutil.copy(case / name, room / name)
    settings = room / "build.yaml"
    if not settings.exists():
        package = (room / "pkg").is_dir()
        lines = [
            f"entry: {'pkg/' if package else ''}train.py",
            "contest: contest.yaml",
            "launch: torchrun --standalone train.py",
        ]
        if (room / "pkg/config.py").exists():
            lines += ["config: pkg.config:Config", "config_loader: pkg.config:load_config"]
        settings.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return settings


def request(case: Path, room: Path) -> Request:
    """What to build of a case that is prepared in a room."""
    settings = prepare(case, room)
    config = room / "config.yaml"
    sets = (case / "set.txt").read_text(encoding="utf-8").split("\n")[:-1] if (case / "set.txt").exists() else []
    variables, launch = case / "variables.env", case / "launch.txt"
    return Request(
        settings=settings,
        config=config if config.exists() else None,
        env_file=variables if variables.exists() else None,
        launch=launch.read_text(encoding="utf-8").strip() if launch.exists() else None,
        sets=tuple(sets),
        strip_comments=(case / "strip-comments.txt").exists(),
    )


def build(case: Path, room: Path) -> Build:
    return produce.build(request(case, room))


def surroundings(case: Path) -> tuple[dict[str, str], list[str]]:
    """The variables and the flags that a case's source is run with."""
    variables = {}
    for file in (case / "variables.env", case / "launch.txt"):
        words = shlex.split(file.read_text(encoding="utf-8"), comments=True) if file.exists() else []
        flags = words[words.index("train.py") + 1 :] if "train.py" in words else []
        pairs = (word.partition("=") for word in words[: len(words) - len(flags)] if not word.startswith("-"))
        variables.update({name: value for name, equals, value in pairs if equals})
    return variables, flags


def run(arguments: list[str], directory: Path, variables: dict[str, str] | None = None) -> str:
    """What a program prints, its exit status and the last line of its errors included."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "RANK": "3", **(variables or {})}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    failure = f"exit {done.returncode}: {done.stderr.strip().splitlines()[-1]}" if done.returncode else ""
    return done.stdout + failure


def knobs(made: Build) -> str:
    """The knobs of a build with values and origins, one a line."""
    return "".join(f"{name} = {knob.value!r} ({knob.origin})\n" for name, knob in made.knobs.items())


def expected(case: Path, name: str) -> str | None:
    path = case / "expected" / name
    return path.read_text(encoding="utf-8") if path.exists() else None


@pytest.mark.parametrize("name", NAMES)
def test_case(name: str, tmp_path: Path) -> None:
    case = CASES / name
    refusal = expected(case, "error.txt")
    if refusal is not None:
        with pytest.raises(BuildError) as refused:
            build(case, tmp_path / "room")
        assert f"{refused.value}\n" == refusal
        return
    made = build(case, tmp_path / "room")
    assert made.files["train.py"].decode() == expected(case, "train.py")
    if expected(case, "launch-command.txt") is not None:
        assert made.files["launch-command.txt"].decode() == expected(case, "launch-command.txt")
    if expected(case, "knobs.txt") is not None:
        assert knobs(made) == expected(case, "knobs.txt")
    assert "".join(f"{warning}\n" for warning in made.warnings) == (expected(case, "warnings.txt") or "")
    if (case / "not-run.txt").exists():
        return
    program = ["-m", "pkg.train"] if (tmp_path / "room/pkg").is_dir() else ["train.py"]
    program += ["config.yaml"] if (case / "config.yaml").exists() else []
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/train.py").write_bytes(made.files["train.py"])
    variables, flags = surroundings(case)
    printed = run([*program, *flags], tmp_path / "room", variables)
    assert printed, "a case that builds must print something, or say in not-run.txt why it is not run"
    assert run(["train.py"], tmp_path / "empty") == printed
    assert run(["-c", BY_PATH], tmp_path / "empty") == printed


def update(names: list[str]) -> None:
    for name in names:
        case = CASES / name
        files: dict[str, bytes] = {}
        with tempfile.TemporaryDirectory() as room:
            try:
                made = build(case, Path(room) / "room")
            except BuildError as error:
                files["error.txt"] = f"{error}\n".encode()
            else:
                files["train.py"] = made.files["train.py"]
                if (case / "build.yaml").exists():
                    files["launch-command.txt"] = made.files["launch-command.txt"]
                if expected(case, "knobs.txt") is not None:
                    files["knobs.txt"] = knobs(made).encode()
                if made.warnings:
                    files["warnings.txt"] = "".join(f"{warning}\n" for warning in made.warnings).encode()
        shutil.rmtree(case / "expected", ignore_errors=True)
        (case / "expected").mkdir()
        for file, content in files.items():
            (case / "expected" / file).write_bytes(content)


if __name__ == "__main__":
    update(sys.argv[1:] or NAMES)
