"""How deeply code may be nested: as far as CPython's own compiler goes under its usual recursion limit.

A sum of three thousand terms is a tree three thousand deep. The builder walks such trees by recursion, and has room for
more than Python can compile; what Python itself gives up on is refused.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import sys
import warnings
from collections.abc import Iterator

DEEPEST = 2_900  # levels of the tree; CPython 3.11 and 3.12 compile about 2,990, and Python 3.13 more
FRAMES = 30_000  # of the builder, at most: ten a level
REMEDY = "split the expression, or put what it lists into a table"


class TooDeepError(Exception):
    """Code nested more deeply than Python can compile. `line` is the deepest line, 0 where the parser did not say."""

    def __init__(self, line: int) -> None:
        super().__init__(f"nested more than {DEEPEST:,} levels deep, which Python itself cannot compile")
        self.line = line


@contextlib.contextmanager
def room_for_trees() -> Iterator[None]:
    """Room for deep recursion, and no garbage collection: trees are millions of objects that all live to the end, and
    looking through them again and again doubles the time. What the parser warns of is between Python and the recipe's
    author; made an error, it would refuse a recipe that runs.
    """
    collecting, limit = gc.isenabled(), sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, FRAMES))
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.setrecursionlimit(limit)
        if collecting:
            gc.enable()


def parse(text: str | bytes, feature_version: tuple[int, int] | None = None) -> ast.Module:
    """The tree of a module. Raises TooDeepError beside what ast.parse raises."""
    try:
        tree = _parse(text, feature_version, DEEPEST)
    except (RecursionError, MemoryError) as error:
        with contextlib.suppress(RecursionError, MemoryError):
            raise TooDeepError(_deepest(_parse(text, feature_version, 3 * DEEPEST))[1]) from error
        raise TooDeepError(0) from error
    if sys.version_info >= (3, 13):  # its parser takes more than those before it
        depth, line = _deepest(tree)
        if depth > DEEPEST:
            raise TooDeepError(line)
    return tree


def _parse(text: str | bytes, feature_version: tuple[int, int] | None, levels: int) -> ast.Module:
    """Parse with room for so many levels: of these, CPython 3.11 and 3.12 take three where Python code has one frame.

    Far above the usual limit of a thousand frames the parser can overflow the stack.
    """
    limit = sys.getrecursionlimit()
    frame, frames = sys._getframe(), 1
    while frame.f_back is not None:
        frame, frames = frame.f_back, frames + 1
    sys.setrecursionlimit(frames + levels // 3)
    try:
        return ast.parse(text, feature_version=feature_version)
    finally:
        sys.setrecursionlimit(limit)


def _deepest(tree: ast.AST) -> tuple[int, int]:
    """How many levels a tree has, and the last line that stands on the deepest of them."""
    depth, line, level = 0, 0, [tree]
    while level:
        depth += 1
        line = max((getattr(node, "lineno", 0) for node in level), default=0) or line
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return depth, line
