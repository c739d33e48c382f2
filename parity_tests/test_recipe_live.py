"""The live bar: under the lines of a terminal, and nowhere else."""

from __future__ import annotations

import io
import re
import sys

import prepare
import pytest

from parity_tests.recipe_samples import small
from recipe.live import live, share

LINES = [
    "step 00000 | loss 7.6246 | lrm 0.250 | dt 1.00s | tok/s 512 | remaining_time 60s | epoch 1",
    "a [red]word[/red] between",
    "step 00001 | loss 5.5000 | lrm 0.250 | dt 1.00s | tok/s 512 | remaining_time 45s | epoch 1",
]


class Terminal(io.StringIO):
    """What is written to a terminal."""

    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO) -> str:
    """What a stream shows of a run that prints the lines."""
    monkeypatch.setattr(sys, "stdout", stream)
    for name, value in {"TERM": "xterm", "COLUMNS": "120"}.items():
        monkeypatch.setenv(name, value)
    with live(small(num_steps=0)):
        for line in LINES:
            print(line)
    assert sys.stdout is stream
    return stream.getvalue()


def test_a_file_gets_the_lines_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO()) == "".join(f"{line}\n" for line in LINES)


def test_a_terminal_gets_the_lines_and_a_bar_that_follows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    text = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", shown(monkeypatch, Terminal()))
    assert all(f"{line}\n" in text for line in LINES)
    bars = [(found[1], found[2]) for found in re.finditer(r"(start-up|step \d+ \| loss [\d.]+) +\S+ +(\d+) %", text)]
    assert [*dict.fromkeys(bars)] == [("start-up", "0"), ("step 0 | loss 7.6246", "0"), ("step 1 | loss 5.5000", "25")]


def test_the_share_that_is_behind_is_of_the_budget_or_of_the_steps_whichever_ends_first() -> None:
    budget = prepare.TRAIN_TIME_BUDGET_SECONDS
    assert share(small(num_steps=0), 3, budget // 2) == 0.5
    assert share(small(num_steps=8), 5, budget // 2) == 0.75
    assert share(small(num_steps=8), 0, -5) == 1.0
