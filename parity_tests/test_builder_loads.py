"""Every artifact does the same however it is loaded, and shows the source of everything in it.

The artifacts are those of all builder cases that run (test_builder_cases.py holds that they are what is built), and the
recipe's own. One process per way of loading.
"""

from __future__ import annotations

import ast
import functools
import inspect
import json
import os
import shutil
import subprocess
import sys
import tempfile
import types
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from builder.produce import produce
from parity_tests.test_builder_bytes import find_python
from parity_tests.test_builder_cases import CASES, NAMES
from parity_tests.test_builder_cli import CONFIG, ROOT

RUNNER = ROOT / "parity_tests/builder_load_many.py"
ALL = [name for name in NAMES if (CASES / name / "expected/train.py").exists()]
RUN = [name for name in ALL if not (CASES / name / "not-run.txt").exists()]
# What these print depends on how they are loaded, in the package as well.
SHOW_HOW = {"statements_under_main"}
# Python warns of their sources: under -W error they do not run as a package either.
WARNED_OF = {"escapes_that_python_warns_of"}
# What these do outlives them in a process: handlers at exit, a patched library, handlers of the logging module.
OUTLIVE = {"exit_handlers", "names_of_loggers", "patched_library"}


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Copies in directories of their own, which cannot be written."""
    room = tmp_path_factory.mktemp("artifacts")
    paths = []
    for name in RUN:
        if name not in SHOW_HOW | OUTLIVE:
            (room / name).mkdir()
            shutil.copy(CASES / name / "expected/train.py", room / name)
            (room / name).chmod(0o555)
            paths.append(str(room / name / "train.py"))
    return paths


def outcomes(
    mode: str, artifacts: list[str], *flags: str, cwd: Path | None = None, python: str = sys.executable
) -> dict[str, str]:
    """What each artifact prints, by the name of its case."""
    environment = {"PATH": os.defpath, "RANK": "3", "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.NamedTemporaryFile() as file:
        command = [python, *flags, str(RUNNER), mode, file.name, *artifacts]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=cwd)
        assert done.returncode == 0, done.stderr
        found: dict[str, str] = json.loads(Path(file.name).read_text(encoding="utf-8"))
    return {Path(path).parent.name: text for path, text in found.items()}


@pytest.fixture(scope="module")
def usual(artifacts: list[str]) -> dict[str, str]:
    return outcomes("main", artifacts)


def differing(one: dict[str, str], other: dict[str, str]) -> dict[str, tuple[str, str]]:
    return {name: (one[name], other[name]) for name in one if one[name] != other[name]}


@pytest.mark.parametrize("mode", ["registered", "unregistered", "executed"])
def test_loaded_in_any_way(mode: str, artifacts: list[str], usual: dict[str, str], tmp_path: Path) -> None:
    assert differing(usual, outcomes(mode, artifacts, cwd=tmp_path)) == {}
    assert len(usual) > 40
    assert all(usual.values())


def test_twice_in_one_process(artifacts: list[str], usual: dict[str, str]) -> None:
    twice = outcomes("twice", artifacts)
    assert differing({name: text * 2 for name, text in usual.items()}, twice) == {}


@pytest.mark.parametrize("flags", [["-O"], ["-B"], ["-W", "error"], ["-I"], ["-X", "utf8=0"]])
def test_under_flags(flags: list[str], artifacts: list[str], usual: dict[str, str]) -> None:
    found = outcomes("main", artifacts, *flags)
    expected = {name for name in usual if flags == ["-W", "error"] and name in WARNED_OF}
    assert set(differing(usual, found)) == expected


def test_nothing_is_written_beside_an_artifact(artifacts: list[str], usual: dict[str, str]) -> None:
    assert usual
    assert {path.name for name in artifacts for path in Path(name).parent.iterdir()} == {"train.py"}


LOAD_TWICE = """
import sys
from parity_tests.builder_load_many import load
modules = [load(sys.argv[1], name, registered) for name, registered in (("a b", False), ("c.d", True), ("c.d", True))]
assert len({module.GPT for module in modules}) == 3
print([callable(module.load_for_eval) for module in modules])
"""


@pytest.mark.parametrize("flags", [[], ["-O"], ["-W", "error::SyntaxWarning"]])
def test_recipes_own_is_loaded_by_path(flags: list[str], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes(recipes_own())
    (tmp_path / "load.py").write_text(LOAD_TWICE, encoding="utf-8")
    paths = [ROOT / "scorer/standins/neuron", ROOT / "scorer/standins/kit", ROOT]
    environment = {"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *flags, "load.py", str(tmp_path / "train.py")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "[True, True, True]\n", done.stderr
    assert not (tmp_path / "__pycache__").exists()


def needs_packages(path: Path) -> bool:
    """Whether an artifact imports what the other Pythons here do not have."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.split(".")[0] not in sys.stdlib_module_names for name in names):
            return True
    return False


# Sources of functions and classes


@functools.cache
def recipes_own() -> bytes:
    return produce(ROOT / "recipe/build.yaml", CONFIG).files["train.py"]


def text_of(name: str) -> str:
    data = recipes_own() if name == "the recipe" else (CASES / name / "expected/train.py").read_bytes()
    return data.decode()


def definitions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield f"{prefix}{node.name}", node  # type: ignore[misc]
        inner = f"{prefix}{node.name}." if isinstance(node, ast.ClassDef) else prefix
        yield from definitions(node, inner)


def without_last_comments(text: str) -> str:
    """A definition's text as `inspect` gives it, without the comments at the end of its last block."""
    lines = text.rstrip("\n").split("\n")
    while not lines[-1].strip() or lines[-1].lstrip().startswith("#"):
        lines.pop()
    return "\n".join(lines)


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from codes(constant)


@pytest.mark.parametrize("name", [*ALL, "the recipe"])
def test_source_of_every_function(name: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(text_of(name), encoding="utf-8")
    lines = text_of(name).split("\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if name in WARNED_OF else "error")
        found = {
            code.co_firstlineno: code for code in codes(compile(text_of(name), str(path), "exec", dont_inherit=True))
        }
    count = 0
    for _, node in definitions(ast.parse(text_of(name))):
        if isinstance(node, ast.ClassDef):
            continue
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        text = inspect.getsource(found[first])
        assert node.end_lineno
        assert without_last_comments(text) == "\n".join(lines[first - 1 : node.end_lineno])
        count += 1
    assert count


def test_source_of_every_class(artifacts: list[str]) -> None:
    count = 0
    for name, printed in outcomes("classes", artifacts).items():
        lines = text_of(name).split("\n")
        texts: dict[str, list[str]] = {}
        for variable, node in definitions(ast.parse(text_of(name))):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            texts.setdefault(variable, []).append("\n".join(lines[first - 1 : node.end_lineno]))
        for line in [line for line in printed.splitlines() if line.startswith("('")]:
            variable, source = ast.literal_eval(line)
            # Of classes with one name, which two modules may have, Python before 3.13 shows any.
            assert without_last_comments(source) in texts[variable], (name, variable)
            count += 1
    assert count > 30


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_other_pythons(version: str, artifacts: list[str], usual: dict[str, str]) -> None:
    there = [path for path in artifacts if not needs_packages(Path(path))]
    found = outcomes("unregistered", there, python=find_python(version))
    assert differing({name: usual[name] for name in found}, found) == {}
