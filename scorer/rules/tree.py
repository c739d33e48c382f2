"""The nodes of a file in the order of its text, so that everything inside of a node is one slice of a list."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache

from scorer.rules.source import Source


class Tree:
    """Every node of a file but the contexts of names, each before what is inside of it."""

    def __init__(self, source: Source) -> None:
        self.nodes: list[ast.AST] = []
        self._spans: dict[int, tuple[int, int]] = {}
        self._add(source.tree)

    def within(self, node: ast.AST) -> list[ast.AST]:
        """A node and everything inside of it."""
        span = self._spans.get(id(node))
        return self.nodes[span[0] : span[1]] if span else list(ast.walk(node))

    def within_all(self, nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
        """Some nodes and everything inside of them."""
        for node in nodes:
            yield from self.within(node)

    def _add(self, node: ast.AST) -> None:
        start = len(self.nodes)
        self.nodes.append(node)
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                if not isinstance(value, ast.expr_context):
                    self._add(value)
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, ast.AST):
                        self._add(item)
        self._spans[id(node)] = (start, len(self.nodes))


@lru_cache(maxsize=1)
def tree(source: Source) -> Tree:
    """One list for all the checks of one file."""
    return Tree(source)
