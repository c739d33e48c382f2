"""Which functions run when: on import, under `__main__`, from a hook; and which of them train."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from scorer.rules.scopes import scopes
from scorer.rules.source import Function, Source


def guards(source: Source) -> list[ast.If]:
    """Every `if __name__ == "__main__":` at the top level."""
    return [s for s in source.tree.body if isinstance(s, ast.If) and _is_guard(s.test)]


def _is_guard(test: ast.expr) -> bool:
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    sides = [test.left, *test.comparators]
    names = [side.id for side in sides if isinstance(side, ast.Name)]
    values = [side.value for side in sides if isinstance(side, ast.Constant)]
    return names == ["__name__"] and values == ["__main__"]


class Reach:
    """The calls between a file's own functions, classes included, by the names that they are called by."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._known: dict[int, list[Function]] = {}
        self._learning = [  # where gradients are taken, in the order of the text
            source.scopes.place(node)
            for node in source.every(ast.Call)
            if isinstance(node.func, ast.Attribute) and node.func.attr == "backward"
        ]
        guarded = guards(source)
        skipped = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom)
        self.at_import = [s for s in source.tree.body if s not in guarded and not isinstance(s, skipped)]

    def evaluated(self, nodes: Iterable[ast.AST], *kinds: type[ast.AST]) -> list[Any]:
        """What is evaluated when these statements run, of some kinds: not the bodies of functions that they define."""
        owner = scopes(self._source).owner
        found: list[Any] = []
        for node in nodes:
            around = owner(node)
            found += [inner for inner in self._source.inside(node, *kinds) if owner(inner) is around]
        return found

    def called_from(self, place: ast.AST) -> list[Function]:
        """Every own function that is called from a statement or a function, and what these call."""
        seen: dict[int, Function] = {}
        waiting = [*self._called(place)]
        while waiting:
            function = waiting.pop()
            if id(function) not in seen:
                seen[id(function)] = function
                waiting.extend(self._called(function))
        return list(seen.values())

    def _called(self, place: ast.AST) -> list[Function]:
        if id(place) not in self._known:
            if isinstance(place, Function):
                calls = self._source.inside(place, ast.Call)
            else:
                calls = self.evaluated([place], ast.Call)
            self._known[id(place)] = [f for call in calls for f in self._functions(call.func)]
        return self._known[id(place)]

    def _functions(self, callee: ast.AST) -> list[Function]:
        """What a call may run: a function, a method, or a class's constructor."""
        table = scopes(self._source)
        own = table.function(callee)
        if own is not None:
            return [own]
        made = table.class_of(callee) if isinstance(callee, ast.Name) else None
        if made is not None:
            names = ("__init__", "__post_init__", "forward", "__call__")
            return [m for m in made.body if isinstance(m, Function) and m.name in names]
        return []

    def trains(self, place: ast.AST) -> bool:
        """Whether a statement or function takes gradients, itself or through what it calls."""
        return bool(self._learning) and any(map(self._takes_gradients, (place, *self.called_from(place))))

    def _takes_gradients(self, place: ast.AST) -> bool:
        first, last = self._source.scopes.span(place)
        found = bisect_left(self._learning, first)
        return found < len(self._learning) and self._learning[found] < last


@lru_cache(maxsize=1)
def reach(source: Source) -> Reach:
    """One table for all the checks of one file."""
    return Reach(source)
