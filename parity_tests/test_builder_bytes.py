"""The same recipe gives the same bytes: under every Python and in all surroundings. All builder cases are built, a file
with knobs of every kind, and the recipe.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from builder.produce import Request
from parity_tests import hand_kept
from parity_tests.fuzz.__main__ import program
from parity_tests.fuzz.running import write
from parity_tests.test_builder_cases import CASES, NAMES, profile_text, request
from scorer.contest import load

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[1]
SITE = str(Path(yaml.__file__).parents[1])
# Messages of the parser itself differ between versions.
PARSER_SPEAKS = ("syntax_error", "syntax_above_the_target")
LAUNCHES: dict[str, dict[str, str]] = {
    "hand-kept file": {},
    "hand-kept file, other knobs": {
        "FF_DEPTH": "3", "FF_ACT": "swiglu", "FF_KV_HEADS": "2", "FF_QK_NORM": "0", "FF_BETAS": "0.9, 0.99",
        "--seq-len": "24", "--schedule": "cosine", "--shuffle": "", "--betas": "0.7 0.9", "-b": "3",
    },
}  # fmt: skip
Requests = dict[str, Request]


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


def requests_in(base: Path) -> Requests:
    """What is built everywhere, its sources copied under a directory."""
    found = {name: request(CASES / name, base / name) for name in NAMES}
    file = hand_kept.write(seed=3, experiments=14)
    (base / "hand_kept").mkdir()
    entry, contest = base / "hand_kept/train.py", base / "hand_kept/contest.yaml"
    entry.write_text(file.text, encoding="utf-8")
    contest.write_text(profile_text(), encoding="utf-8")
    for name, settings in LAUNCHES.items():
        found[name] = Request(entry=entry, launch=file.launch(settings), contest=str(contest))
    shutil.copytree(ROOT / "recipe", base / "recipe", ignore=shutil.ignore_patterns("__pycache__"))
    found["recipe"] = Request(settings=base / "recipe/build.yaml", config=base / "recipe/configs/small.yaml")
    for seed in range(30):
        found[f"random package {seed}"] = Request(settings=write(program(seed), base / f"random_{seed}"))
    return found


@functools.cache
def profile_of(content: bytes) -> Any:
    """The contest profile of a file's content, as JSON."""
    with tempfile.NamedTemporaryFile(suffix=".yaml") as file:
        file.write(content)
        file.flush()
        return exported(load(file.name))


def exported(value: Any) -> Any:
    """A contest profile as JSON, which tells objects and mappings apart."""
    if isinstance(value, BaseModel):
        return {name: exported(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, dict):
        return {"mapping": {key: exported(item) for key, item in value.items()}}
    return [exported(item) for item in value] if isinstance(value, (list, tuple)) else value


def build_all(
    python: str,
    requests: Requests,
    work: Path,
    *,
    cwd: Path | None = None,
    flags: tuple[str, ...] = (),
    **environment: str,
) -> dict[str, Any]:
    """The results of all requests, built by one process."""
    profiles = {"embedded": exported(load("embedded"))}
    for one in requests.values():
        path = Path(one.contest or (one.settings or work).parent / "contest.yaml")
        if path.is_file():
            profiles[str(path)] = profile_of(path.read_bytes())
    plain = {
        key: {name: str(value) if isinstance(value, Path) else value for name, value in vars(one).items()}
        for key, one in requests.items()
    }
    work.write_text(json.dumps({"profiles": profiles, "requests": plain}), encoding="utf-8")
    command = [python, *flags, str(ROOT / "parity_tests/builder_build_many.py"), SITE, str(work)]
    env = {"PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1", **environment}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=cwd, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    results: dict[str, Any] = json.loads(done.stdout)
    return results


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rooms")


@pytest.fixture(scope="module")
def requests(base: Path) -> Requests:
    return requests_in(base)


@pytest.fixture(scope="module")
def usual(base: Path, requests: Requests) -> dict[str, Any]:
    """What Python here makes of everything, and of the recipe under other knobs."""
    other = dataclasses.replace(requests["recipe"], sets=("depth=3",))
    results = build_all(sys.executable, {**requests, "recipe, other knobs": other}, base / "usual.json")
    built = [result for result in results.values() if isinstance(result, dict)]
    assert len(built) > 40
    assert {result["train.py"] for result in built} > {results[name]["train.py"] for name in (*LAUNCHES, "recipe")}
    return results


def differing(usual: dict[str, Any], found: dict[str, Any]) -> set[str]:
    """The requests that gave something else than usual; each that is built everywhere was asked for."""
    assert usual.keys() - found.keys() == {"recipe, other knobs"}
    return {key for key in found if found[key] != usual[key]}


def test_other_knobs_give_other_bytes(usual: dict[str, Any]) -> None:
    for name in ("hand-kept file", "recipe"):
        assert usual[name]["train.py"] != usual[f"{name}, other knobs"]["train.py"]


# The version that runs the tests is tried below, in other surroundings.
@pytest.mark.parametrize("version", sorted({"3.11", "3.12", "3.13"} - {"{}.{}".format(*sys.version_info)}))
def test_every_python_builds_the_same_bytes(
    version: str, base: Path, requests: Requests, usual: dict[str, Any]
) -> None:
    found = build_all(find_python(version), requests, base / f"{version}.json", PYTHONHASHSEED="7")
    assert differing(usual, found) <= set(PARSER_SPEAKS)


def test_surroundings_do_not_show_in_the_bytes(
    tmp_path: Path, base: Path, requests: Requests, usual: dict[str, Any]
) -> None:
    """Another hash seed, locale, time zone, umask, directory, home; optimisation; warnings as errors."""
    before = snapshot(base)
    found = build_all(
        sys.executable,
        requests,
        tmp_path / "work.json",
        cwd=tmp_path,
        flags=("-O", "-W", "error"),
        PYTHONHASHSEED="99",
        LC_ALL="C",
        PYTHONUTF8="0",
        TZ="Asia/Tokyo",
        HOME=str(tmp_path),
        COLUMNS="40",
        FF_DEPTH="1",
        RANK="5",
        BUILD_UMASK="077",
    )
    # In the C locale Python itself finds no module whose file has such a name; it is refused.
    unreadable = {name for name in NAMES if any(not str(path).isascii() for path in (CASES / name).rglob("*.py"))}
    assert differing(usual, found) == unreadable
    assert all("BLD010" in found[name] for name in unreadable)
    assert snapshot(base) == before, "a build changes nothing beside its sources"


def test_the_checkout_does_not_show_in_the_bytes(tmp_path: Path, usual: dict[str, Any]) -> None:
    """A copy with other line ends and byte order marks, in a repository, read-only, old, reached over a link."""
    real = tmp_path / "a directory, with ü and ' in it"
    real.mkdir()
    copied = requests_in(real)
    for number, path in enumerate(sorted(path for path in real.rglob("*") if path.suffix in (".py", ".yaml"))):
        data = path.read_bytes()
        marked = path.suffix == ".py" and number % 2 and b"coding" not in data[:100] and not data.startswith(b"\xef")
        ends = b"\r\n" if b"\r" not in data and number % 3 else b"\n"
        path.write_bytes((b"\xef\xbb\xbf" if marked else b"") + data.replace(b"\n", ends))
        os.utime(path, (number, number))
    git = ("git", "-c", "user.name=x", "-c", "user.email=x", "-C", str(real))
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "x")):
        subprocess.run([*git, *words], check=True, capture_output=True)
    for path in real.rglob("*"):
        if ".git" not in path.parts:
            path.chmod(0o555 if path.is_dir() else 0o444)
    link = tmp_path / "link"
    link.symlink_to(real)
    moved: Requests = {}
    for key, one in copied.items():
        places = {name: value for name, value in vars(one).items() if isinstance(value, Path)}
        paths = {name: link / path.relative_to(real) for name, path in places.items() if path.is_relative_to(real)}
        contest = one.contest.replace(str(real), str(link)) if one.contest else None
        moved[key] = dataclasses.replace(one, **paths, contest=contest)
    found = build_all(sys.executable, moved, tmp_path / "work.json")
    assert differing(usual, found) == set()
    model = real / "recipe/model.py"
    model.chmod(0o644)
    model.write_bytes(model.read_bytes().replace(b"The whole model", b"A whole model"))
    changed = {"recipe": moved["recipe"]}
    assert build_all(sys.executable, changed, tmp_path / "work.json")["recipe"] != usual["recipe"]


def snapshot(directory: Path) -> dict[str, int]:
    """Every file under a directory, with its time; the lists of work aside."""
    return {str(path): path.stat().st_mtime_ns for path in directory.rglob("*") if path.suffix != ".json"}
