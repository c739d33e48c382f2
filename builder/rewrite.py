"""What one module's code becomes: text edits, what is dead, and the same decisions on the tree (by which the output is
proven).
"""

from __future__ import annotations

import ast
import bisect
from dataclasses import dataclass, field

from builder.bindings import Outside
from builder.edits import Edit
from builder.errors import Problem


@dataclass
class Rewrite:
    """Decisions about one module. Nodes are those of the module's own tree."""

    edits: list[Edit] = field(default_factory=list)
    dead: list[tuple[int, int]] = field(default_factory=list)  # spans of code that the artifact does not have
    problems: list[tuple[int, int, Problem]] = field(
        default_factory=list
    )  # (part, offset, problem): counts where that code is kept
    expressions: dict[ast.AST, ast.expr] = field(default_factory=dict)
    statements: dict[ast.AST, list[ast.stmt]] = field(default_factory=dict)
    operands: dict[ast.AST, list[ast.expr]] = field(default_factory=dict)  # of boolean operators that lost some
    removed: set[ast.AST] = field(default_factory=set)  # parameters, arguments
    cut: set[ast.AST] = field(default_factory=set)  # `elif`s that are gone with all that follows them
    renamed: dict[tuple[ast.AST, str], str] = field(default_factory=dict)  # (node, name in it) -> name in the artifact
    quoted: set[ast.AST] = field(default_factory=set)  # annotations written as strings
    looked_through: set[ast.AST] = field(default_factory=set)  # imports in functions that need no statement any more
    undecided: dict[ast.AST, Exception] = field(default_factory=dict)  # reads that settings do not decide, and why
    needs: list[tuple[int, Outside]] = field(default_factory=list)  # (part, import that text put in asks for)
    _starts: list[int] = field(default_factory=list)  # the dead spans in order, those that meet as one
    _ends: list[int] = field(default_factory=list)
    _merged: int = 0  # how many of them are in the two lists

    def kill(self, start: int, end: int) -> None:
        """Mark a span as dead."""
        if start < end:
            self.dead.append((start, end))

    def is_dead(self, offset: int) -> bool:
        """Whether the code at an offset is gone."""
        while self._merged < len(self.dead):
            self._merge(*self.dead[self._merged])
            self._merged += 1
        index = bisect.bisect_right(self._starts, offset) - 1
        return index >= 0 and offset < self._ends[index]

    def _merge(self, start: int, end: int) -> None:
        first, behind = bisect.bisect_left(self._ends, start), bisect.bisect_right(self._starts, end)
        if first < behind:
            start, end = min(start, self._starts[first]), max(end, self._ends[behind - 1])
        self._starts[first:behind] = [start]
        self._ends[first:behind] = [end]
