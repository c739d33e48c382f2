"""Packages from PyPI beside a script that exercises them: one file of both prints the same, or the build is refused.

builder_packages/NAME.py    the script; the package is copied from the environment, source files only
"""

from __future__ import annotations

import ast
import importlib.util
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from builder.errors import BuildError
from builder.produce import produce
from parity_tests.test_builder_cases import profile_text

SCRIPTS = Path(__file__).parent / "builder_packages"


@dataclass(frozen=True)
class Package:
    """What comes of a package: a constant of it that shows in what the script prints, or why it is refused."""

    change: tuple[str, str] | None = None
    refused: dict[str, str] = field(default_factory=dict)  # some of its lines, as `file: what stands there` -> code
    machine: tuple[str, ...] = ()  # packages that the contest's machine has besides
    needs_packages: bool = False  # whether the script runs with the environment's packages


PACKAGES = {
    "packaging": Package(change=("Invalid version: ", "Not a version: ")),
    "sqlparse": Package(change=("Invalid value for ", "Wrong value for ")),
    "tomli": Package(change=("Cannot overwrite a value", "Cannot replace a value")),
    "click": Package(
        refused={
            "click/core.py: os.environ.get(self.envvar)": "BLD021",
            "click/testing.py: termui.visible_prompt_func = visible_input": "BLD018",
        }
    ),
    "einops": Package(
        change=("contains duplicate dimension", "has a dimension twice"),
        machine=("jax", "cupy", "tensorflow", "oneflow", "paddle", "tinygrad", "pytensor", "mlx"),
        needs_packages=True,
    ),
    "jinja2": Package(
        refused={
            "jinja2/environment.py: exec(code, namespace)": "BLD020",
            "jinja2/loaders.py: __import__(module, None": "BLD012",
        },
        machine=("markupsafe",),
    ),
    "pyparsing": Package(change=("Expected ", "Wanted ")),
}


def prepare(name: str, room: Path) -> Path:
    """The script, the sources of the package and the build settings in a directory; returns the settings."""
    spec = importlib.util.find_spec(name)
    assert spec is not None, f"{name} is not installed; it is in the dev dependencies"
    assert spec.origin is not None
    home = Path(spec.origin).parent

    def others(directory: str, names: list[str]) -> list[str]:
        found = [name for name in names if name == "__pycache__" or not (name.endswith(".py") or "." not in name)]
        return [name for name in found if not (Path(directory) / name).is_dir() or name == "__pycache__"]

    shutil.copytree(home, room / name, ignore=others)
    shutil.copy(SCRIPTS / f"{name}.py", room / "train.py")
    profile = yaml.safe_load(profile_text())
    profile["files"]["size_limit_bytes"] = 1_000_000
    profile["machine"]["packages"] += PACKAGES[name].machine
    (room / "contest.yaml").write_text(yaml.safe_dump(profile), encoding="utf-8")
    (room / "build.yaml").write_text("entry: train.py\ncontest: contest.yaml\nlaunch: torchrun train.py\n")
    return room / "build.yaml"


def printed(directory: Path, packages: bool = False) -> str:
    """What train.py prints when it is run in a directory, with the environment's packages or without."""
    environment = {"PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [sys.executable, *([] if packages else ["-S"]), "train.py"],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return f"{done.stdout}exit {done.returncode}"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if package.needs_packages else ())
        for name, package in PACKAGES.items()
        if package.change
    ],
)
def test_flat_file_prints_what_the_package_does(name: str, tmp_path: Path) -> None:
    package = PACKAGES[name]
    assert package.change is not None
    made = produce(prepare(name, tmp_path / "room"))
    expected = printed(tmp_path / "room", package.needs_packages)
    assert expected.endswith("exit 0")
    assert expected.count("\n") > 10
    text = made.files["train.py"].decode()
    tree = ast.parse(text)
    assert name not in {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert name not in {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    (tmp_path / "empty").mkdir()
    flat = tmp_path / "empty/train.py"
    flat.write_text(text, encoding="utf-8")
    assert printed(flat.parent, package.needs_packages) == expected
    assert package.change[0] in text
    flat.write_text(text.replace(*package.change), encoding="utf-8")
    assert printed(flat.parent, package.needs_packages) != expected


@pytest.mark.parametrize("name", [name for name, package in PACKAGES.items() if package.refused])
def test_what_cannot_be_proven_is_refused_with_its_line(name: str, tmp_path: Path) -> None:
    room = tmp_path / "room"
    with pytest.raises(BuildError) as refused:
        produce(prepare(name, room))
    codes = Counter(problem.code for problem in refused.value.problems)
    assert not codes["BLD045"], "the builder made something else of the sources than they say"
    told = {(problem.file, problem.line): problem.code for problem in refused.value.problems}
    for place, code in PACKAGES[name].refused.items():
        file, _, text = place.partition(": ")
        lines = (room / file).read_text(encoding="utf-8").split("\n")
        assert code in {told.get((file, i)) for i, line in enumerate(lines, 1) if text in line}, (
            f"{place}\n{refused.value}"
        )
    for problem in refused.value.problems:
        assert problem.line, str(problem)
        assert (room / problem.file).is_file()
