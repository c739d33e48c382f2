"""`--strip-comments`: an artifact without comments, the same program to the last constant.

Docstrings stay, for they are code; so do licences and the builder's own lines that say where a section comes from.
"""

from __future__ import annotations

import ast

from builder.emit import Output
from builder.errors import BuildError, Problem
from builder.source import Source


def strip(output: Output) -> Output:
    """The output without comments, its map and ranges right; a BuildError unless both parse to the same tree."""
    source = Source("train.py", output.text)
    ends: dict[int, int] = {}  # line -> column at which its comment begins
    for start in source.lexical.comments:
        line = source.line(start)
        if line - 1 not in output.header:
            ends[line] = start - source.line_start(start)
    stripped = Output()
    moved: list[int] = []
    between = 0  # blank lines above the comment lines that were just left out
    for number, (text, place) in enumerate(zip(output.lines, output.places, strict=True), 1):
        moved.append(len(stripped.lines))
        left = text[: ends[number]].rstrip() if number in ends else text
        is_code = number in source.lexical.inside or number + 1 in source.lexical.inside
        if not left and not is_code:
            if number in ends:
                between = max(between, _blank_behind(stripped.lines))
                while between and stripped.lines and not stripped.lines[-1]:
                    del stripped.lines[-1], stripped.places[-1]
                continue
        elif between:
            for _ in range(between - _blank_behind(stripped.lines)):
                stripped.add("")
            between = 0
            moved[-1] = len(stripped.lines)
        if number - 1 in output.header:
            stripped.header.add(len(stripped.lines))
        stripped.add(left, place if left.strip() else None)
    moved.append(len(stripped.lines))
    stripped.ranges = {part: (moved[begin], moved[end]) for part, (begin, end) in output.ranges.items()}
    stripped.importers = {moved[line - 1] + 1 for line in output.importers}
    if _tree(stripped.text) != _tree(output.text):
        message = "the artifact without comments is another program"
        raise BuildError([Problem("train.py", 0, "BLD045", message, "report this: the builder is at fault")])
    return stripped


def _tree(text: str) -> str:
    try:
        return ast.dump(ast.parse(text))
    except SyntaxError as error:
        return str(error)


def _blank_behind(lines: list[str]) -> int:
    count = 0
    while count < len(lines) and not lines[-1 - count]:
        count += 1
    return count
