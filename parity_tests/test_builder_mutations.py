"""The proof sees every change: a name, a number, a text or an operator altered anywhere in an artifact is refused."""

from __future__ import annotations

import copy
import io
import keyword
import random
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from builder import produce as phases
from builder.emit import Output
from builder.errors import BuildError
from parity_tests.test_builder_cases import CASES, NAMES, build, expected

BUILT = [name for name in NAMES if expected(CASES / name, "train.py") is not None]
OTHERS = {"+": "-", "-": "+", "*": "+", "==": "!=", "<": "<=", ">": ">=", "//": "*", "and": "or", "or": "and"}
CHANGES = 8  # of each artifact


def changes(output: Output) -> Iterator[tuple[int, str]]:
    """Lines of an artifact's code (0-based) with one token altered."""
    inside = {number for begin, end in output.ranges.values() for number in range(begin, end)}
    for token in tokenize.generate_tokens(io.StringIO(output.text).readline):
        number, start = token.start[0] - 1, token.start[1]
        if number not in inside or token.end[0] != token.start[0]:
            continue
        other = None
        if token.type == tokenize.NAME and not keyword.iskeyword(token.string) and token.string != "_":
            other = f"{token.string}_other"
        elif token.type == tokenize.NUMBER and token.string.isdigit():
            other = str(int(token.string, 10) + 1)
        elif token.type == tokenize.STRING and token.string[-1] in "'\"" and len(token.string) > 2:
            other = f"{token.string[:-1]}.{token.string[-1]}" if not token.string.endswith(('"""', "'''")) else None
        elif token.string in OTHERS:
            other = OTHERS[token.string]
        if other is not None:
            line = output.lines[number]
            yield number, line[:start] + other + line[token.end[1] :]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of backslashes in a case's text
@pytest.mark.parametrize("name", BUILT)
def test_a_changed_artifact_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proven: list[tuple[Any, ...]] = []
    verify = phases.verify

    def note(*arguments: Any) -> None:
        proven.append(arguments)
        verify(*arguments)

    monkeypatch.setattr(phases, "verify", note)
    build(CASES / name, tmp_path / "room")
    output, *others = proven[0]
    found = list(changes(output))
    for number, line in random.Random(name).sample(found, min(CHANGES, len(found))):
        changed = copy.copy(output)
        changed.lines = [*output.lines[:number], line, *output.lines[number + 1 :]]
        assert is_refused(verify, changed, *others), f"not seen: {output.lines[number]!r} -> {line!r}"


def is_refused(verify: Callable[..., None], *arguments: Any) -> bool:
    try:
        verify(*arguments)
    except BuildError:
        return True
    return False
