"""The two sessions of the tests: together they run every test once, CI runs both, and a slow test is named."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COLLECT = """
import json, sys
import pytest

class Collected:
    def pytest_collection_finish(self, session):
        self.tests = [item.nodeid for item in session.items]

found = []
for words in json.loads(sys.argv[1]):
    collected = Collected()
    assert pytest.main(["--collect-only", "-p", "no:cacheprovider", *words], plugins=[collected]) == 0
    found.append(collected.tests)
with open(sys.argv[2], "w") as file:
    json.dump(found, file)
"""


def sessions() -> dict[str, str]:
    """The sessions that run tests, and what each of them asks of a test's marks."""
    found = {}
    for function in ast.parse((ROOT / "noxfile.py").read_text("utf-8")).body:
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "run_tests":
                assert isinstance(function, ast.FunctionDef)
                found[function.name] = ast.literal_eval(node.args[1])
    return found


@pytest.mark.long
def test_every_test_is_in_one_session(tmp_path: Path) -> None:
    chosen = [[], *(["-m", marks] for marks in sessions().values())]
    found = tmp_path / "found.json"
    command = [sys.executable, "-c", COLLECT, json.dumps(chosen), str(found)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    every, *parts = json.loads(found.read_text("utf-8"))
    assert len(parts) == 2
    assert all(parts)
    assert sorted(test for part in parts for test in part) == sorted(every)


def test_ci_runs_all_of_them() -> None:
    assert set(sessions()) == {"tests", "long"}
    commands = (ROOT / ".ci/run").read_text("utf-8").splitlines()
    assert {f"nox -s {name}" for name in sessions()} <= set(commands)


SLOW = """
import pytest, time

@pytest.fixture
def waits():
    time.sleep(1.1)

def test_waits(waits): pass

def test_takes_long(): time.sleep(1.1)

def test_is_quick(): pass

@pytest.mark.long
def test_is_marked(): time.sleep(1.1)
"""


def test_a_test_that_takes_too_long_without_the_mark_is_named(tmp_path: Path) -> None:
    """Told by a worker to the process that writes the summary, its fixtures counted in."""
    (tmp_path / "test_slow.py").write_text(SLOW, "utf-8")
    lower = "import parity_tests.conftest as conftest\nfrom parity_tests.conftest import *\nconftest.LONGEST = 1.0\n"
    (tmp_path / "conftest.py").write_text(lower, "utf-8")
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "-p", "no:cacheprovider", "-n", "1"]
    done = subprocess.run(
        [*command, "--rootdir", str(tmp_path), "--confcutdir", str(tmp_path), str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    _, _, named = done.stdout.partition("took more than 1 s")
    assert {line.split("::")[1] for line in named.splitlines() if "::" in line} == {"test_waits", "test_takes_long"}
