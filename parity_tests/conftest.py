"""What every test needs: the stand-ins on the path, as a clean room puts them there. And what each one takes.

A test that takes longer than most is marked `long` and has a session of its own: `nox -s long`. One that is not marked
and takes too long is named at the end of the run.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
for directory in (ROOT / "scorer/standins/neuron", ROOT / "scorer/standins/kit", ROOT):
    if str(directory) not in sys.path:
        sys.path.insert(0, str(directory))

LONGEST = 15.0
"""Seconds that a test may take without the mark, fixtures included; on two quiet cores none takes more than 13."""

_taken: defaultdict[str, float] = defaultdict(float)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up what each test without the mark takes: set-up, call and end."""
    if "long" not in report.keywords:
        _taken[report.nodeid] += report.duration


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the tests that took too long for `nox -s tests`."""
    slow = [(test, seconds) for test, seconds in _taken.items() if seconds > LONGEST]
    if slow:
        terminalreporter.section(f"took more than {LONGEST:g} s: make them quicker, or mark them `long`")
        for test, seconds in sorted(slow, key=lambda each: -each[1]):
            terminalreporter.line(f"{seconds:6.1f} s {test}")


@pytest.fixture
def one_rank(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """What the recipe finds that trains in this process: no launcher, the stand-in kit's data, an empty directory."""
    from scorer.contest import load
    from scorer.room.kit import ensure_kit

    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NEURON_COMPETITION_R1_CACHE_DIR", str(ensure_kit(load("embedded")).cache_dir))
    monkeypatch.chdir(tmp_path)
    return tmp_path
