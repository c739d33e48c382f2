"""The same recipe gives the same bytes: under every Python, hash seed, locale, umask, directory, line end."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from parity_tests.test_builder_cases import CASES, NAMES, prepare
from scorer.contest import load

ROOT = Path(__file__).parents[1]
SITE = str(Path(yaml.__file__).parents[1])
# Messages of the parser itself differ between versions.
PARSER_SPEAKS = ("syntax_error", "syntax_above_the_target")


def find_python(version: str) -> str:
    """An interpreter of a version; skips the test with the reason when there is none."""
    roots = [os.environ.get("PYENV_ROOT", ""), str(Path.home() / ".pyenv")]
    installed = [
        str(path) for root in roots if root for path in sorted(Path(root).glob(f"versions/{version}.*/bin/python"))
    ]
    for candidate in [shutil.which(f"python{version}"), *installed]:
        if candidate:
            asked = subprocess.run(
                [candidate, "-c", "import sys; print(*sys.version_info[:2], sep='.')"],
                capture_output=True,
                text=True,
                check=False,
            )
            if asked.stdout.strip() == version:
                return candidate
    pytest.skip(f"no Python {version} is installed here")


def build_all(
    python: str, builds: list[str], profiles: Path, cwd: Path | None = None, **environment: str
) -> dict[str, Any]:
    command = [python, str(ROOT / "parity_tests/builder_build_many.py"), SITE, str(profiles), *builds]
    env = {"PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1", **environment}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=cwd, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    results: dict[str, Any] = json.loads(done.stdout)
    return results


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path]:
    """Every case prepared in a room, and the profiles that their settings name."""
    base = tmp_path_factory.mktemp("rooms")
    builds, profiles = [], {}
    for name in NAMES:
        if name in PARSER_SPEAKS:
            continue
        settings = prepare(CASES / name, base / name)
        config = base / name / "config.yaml"
        sets = (
            (CASES / name / "set.txt").read_text(encoding="utf-8").split()
            if (CASES / name / "set.txt").exists()
            else []
        )
        builds.append(f"{settings}:{config if config.exists() else ''}:{','.join(sets)}")
        profiles[str(settings.parent / "contest.yaml")] = load(settings.parent / "contest.yaml").model_dump()
    (base / "profiles.json").write_text(json.dumps(profiles), encoding="utf-8")
    return builds, base / "profiles.json"


@pytest.fixture(scope="module")
def usual(cases: tuple[list[str], Path]) -> dict[str, Any]:
    builds, profiles = cases
    return build_all(sys.executable, builds, profiles)


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_every_python_builds_the_same_bytes(version: str, cases: tuple[list[str], Path], usual: dict[str, Any]) -> None:
    builds, profiles = cases
    found = build_all(find_python(version), builds, profiles, PYTHONHASHSEED="7")
    assert {key for key in usual if found[key] != usual[key]} == set()
    assert sum(isinstance(result, dict) for result in usual.values()) > 30


def recipe_profiles(tmp_path: Path) -> Path:
    path = tmp_path / "profiles.json"
    path.write_text(json.dumps({"embedded": load("embedded").model_dump()}), encoding="utf-8")
    return path


def test_surroundings_do_not_show_in_the_bytes(tmp_path: Path) -> None:
    profiles = recipe_profiles(tmp_path)
    build = f"{ROOT}/recipe/build.yaml:{ROOT}/recipe/configs/small.yaml"
    usual = build_all(sys.executable, [build], profiles)[build]
    strange = build_all(
        sys.executable,
        [build],
        profiles,
        cwd=tmp_path,
        PYTHONHASHSEED="99",
        LC_ALL="C",
        PYTHONUTF8="0",
        TZ="Asia/Tokyo",
    )
    assert strange[build] == usual
    other = f"{build}:depth=3"
    assert build_all(sys.executable, [other], profiles)[other] != usual


def test_checkout_with_other_line_ends_in_another_directory(tmp_path: Path) -> None:
    profiles = recipe_profiles(tmp_path)
    build = f"{ROOT}/recipe/build.yaml:{ROOT}/recipe/configs/small.yaml"
    usual = build_all(sys.executable, [build], profiles)[build]
    copy = tmp_path / "a directory ü" / "recipe"
    shutil.copytree(ROOT / "recipe", copy, ignore=shutil.ignore_patterns("__pycache__"))
    for number, path in enumerate(sorted([*copy.rglob("*.py"), *copy.rglob("*.yaml")])):
        data = path.read_bytes()
        path.write_bytes(
            (b"\xef\xbb\xbf" if path.suffix == ".py" and number % 2 else b"")
            + data.replace(b"\n", b"\r\n" if number % 3 else b"\n")
        )
    copied = f"{copy}/build.yaml:{copy}/configs/small.yaml"
    assert build_all(sys.executable, [copied], profiles)[copied] == usual
    model = copy / "model.py"
    model.write_bytes(model.read_bytes().replace(b"The whole model", b"A whole model"))
    assert build_all(sys.executable, [copied], profiles)[copied] != usual
