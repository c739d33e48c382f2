"""What one module's code becomes: text edits, what is dead, and the same decisions on the tree (by which the output is
proven).
"""

from __future__ import annotations

import ast
import bisect
from dataclasses import dataclass, field

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
    _merged: tuple[int, list[int], list[int]] = (0, [], [])

    def kill(self, start: int, end: int) -> None:
        """Mark a span as dead."""
        if start < end:
            self.dead.append((start, end))

    def is_dead(self, offset: int) -> bool:
        """Whether the code at an offset is gone."""
        if self._merged[0] != len(self.dead):
            starts: list[int] = []
            ends: list[int] = []
            for start, end in sorted(self.dead):
                if ends and start <= ends[-1]:
                    ends[-1] = max(ends[-1], end)
                else:
                    starts.append(start)
                    ends.append(end)
            self._merged = (len(self.dead), starts, ends)
        _, starts, ends = self._merged
        index = bisect.bisect_right(starts, offset) - 1
        return index >= 0 and offset < ends[index]
