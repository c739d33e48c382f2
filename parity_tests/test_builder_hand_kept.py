"""Contest files as people keep them, built and run: the artifact trains as the file did under the same settings."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from parity_tests.hand_kept import HandKept, write
from parity_tests.hand_kept.proof import SETTINGS, Runner, outcome, prove, some_settings, words

SMALL, FULL = 14, 63


def file_of(parse: str) -> HandKept:
    """The file of the short tests."""
    return write(seed=3, experiments=SMALL, parse=parse)


def test_size() -> None:
    small, full = write(1, SMALL), write(1, FULL)
    assert 1_500 <= small.text.count("\n") <= 2_000
    assert 4_500 <= full.text.count("\n") <= 5_000
    assert 235_000 <= len(full.text) < 262_144
    assert 180 <= len(set(re.findall(r"""["'](FF_\w+)["']""", full.text))) <= 220
    assert 136 <= full.text.count(".add_argument(") <= 160


@pytest.mark.parametrize("parse", ["function", "module"])
def test_same_arguments_same_file(parse: str) -> None:
    assert write(5, 9, parse).text == write(5, 9, parse).text
    assert write(5, 9, parse).text != write(6, 9, parse).text
    tree = ast.parse(write(5, 9, parse).text)
    assert any(isinstance(node, ast.FunctionDef) and node.name == "parse_args" for node in tree.body) == (
        parse == "function"
    )


def test_same_settings_same_run(tmp_path: Path) -> None:
    file, runner = file_of("function"), Runner(tmp_path)
    for _ in range(2):
        runner.add(file.text, *words(some_settings(file, "shape")))
    first, second = runner.run()
    assert first["status"] == 0, first["error"]
    assert outcome(first) == outcome(second)


@pytest.mark.long
@pytest.mark.parametrize("parse", ["function", "module"])
def test_artifact_trains_as_the_file(parse: str, tmp_path: Path) -> None:
    """No variable and no flag is read any more; losses, all that is printed, checkpoint and logits are the same."""
    file = file_of(parse)
    prove(file, {name: some_settings(file, name) for name in SETTINGS}, tmp_path)
