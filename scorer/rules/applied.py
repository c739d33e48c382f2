"""What a call applies to what, however it is written.

    f(a, b)   f(*(a, b))   partial(f, a)(b)   map(f, [a], [b])   starmap(f, [(a, b)])   reduce(f, [b], a)

all apply `f` to `a` and `b`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from scorer.rules.source import Source
from scorer.rules.tree import Way

Application = tuple[ast.expr, list[ast.expr]]
MOST = 64  # applications of one call that are looked at


def applied(source: Source, call: ast.Call) -> Iterator[Application]:
    """(function, positional arguments) of each application, as far as sequences and functions are written out."""
    given = _spread(source, call.args)
    full = source.resolve(call.func)
    if full == "functools.reduce" and len(given) > 1:
        elements = _elements(source, given[1])
        first = given[2:3] or elements[:1]
        yield from ((given[0], [*first, element]) for element in elements[0 if given[2:] else 1 :][:MOST])
    elif full == "itertools.starmap" and len(given) > 1:
        yield from ((given[0], _elements(source, element)) for element in _elements(source, given[1])[:MOST])
    elif full == "builtins.map" and len(given) > 1:
        columns = [_elements(source, sequence) for sequence in given[1:]]
        yield from ((given[0], list(row)) for row in zip(*columns, strict=False))
    else:
        yield call.func, given
        for maker in values(source, call.func):
            if isinstance(maker, ast.Call) and source.resolve(maker.func) == "functools.partial" and maker.args:
                bound = _spread(source, maker.args)
                yield bound[0], [*bound[1:], *given]


def values(source: Source, node: ast.expr) -> list[ast.AST]:
    """What a name is bound to anywhere in its scope, by loops too, or the expression itself."""
    looked_up = source.scopes.scope(node).look_up(node.id) if isinstance(node, ast.Name) else None
    if looked_up is None:
        return [node]
    found = [one.node for one in looked_up[1] if one.way is Way.VALUE]
    for one in looked_up[1]:
        found += source.looped(one.node, one.path) or [] if one.way is Way.ELEMENT else []
    return found


def _elements(source: Source, node: ast.AST) -> list[ast.expr]:
    return source.elements(node) or []


def _spread(source: Source, arguments: list[ast.expr]) -> list[ast.expr]:
    """Arguments, with those of a written-out sequence behind a star one by one."""
    found: list[ast.expr] = []
    for argument in arguments:
        inner = _elements(source, argument.value) if isinstance(argument, ast.Starred) else [argument]
        found.extend(inner or [argument])
    return found
