"""Annotations: which there are, whether they are evaluated, and what of them is left when parts of a union are shaken
out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from builder.edits import Edit
from builder.rewrite import Rewrite
from builder.scan import Part
from builder.source import Source, inner_statements


def stored(node: ast.AST) -> list[ast.expr]:
    """Annotations that Python stores (not those of a function's local variables), in a top-level statement."""
    return [annotation for annotation, local in _walk(node, False) if not local]


def every(node: ast.AST) -> list[ast.expr]:
    """All annotations in a top-level statement."""
    return [annotation for annotation, _ in _walk(node, False)]


def _walk(node: ast.AST, local: bool) -> Iterator[tuple[ast.expr, bool]]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            arguments = [
                *node.args.posonlyargs,
                *node.args.args,
                *node.args.kwonlyargs,
                node.args.vararg,
                node.args.kwarg,
            ]
            yield from ((a.annotation, False) for a in arguments if a is not None and a.annotation is not None)
            if node.returns is not None:
                yield node.returns, False
            local = True
        case ast.ClassDef():
            local = False
        case ast.AnnAssign():
            yield node.annotation, local
    for child in inner_statements(node):
        yield from _walk(child, local)


def members(node: ast.expr) -> list[ast.expr]:
    """The members of `A | B | C`; of anything else, itself."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*members(node.left), *members(node.right)]
    return [node]


def drop_members(source: Source, rewrite: Rewrite, node: ast.expr, found: list[ast.expr], gone: list[bool]) -> None:
    """Take members out of a union, in the text and among the decisions."""
    spans = [(source.start(member), source.end(member)) for member in found]
    kept = [i for i, is_gone in enumerate(gone) if not is_gone]
    for i, is_gone in enumerate(gone):
        if not is_gone:
            continue
        start, end = (spans[i][0], spans[i + 1][0]) if any(k > i for k in kept) else (spans[i - 1][1], spans[i][1])
        rewrite.edits.append(Edit(start, end, ()))
        rewrite.kill(start, end)
    left: ast.expr = found[kept[0]]
    for i in kept[1:]:
        left = ast.BinOp(left, ast.BitOr(), found[i])
    rewrite.expressions[node] = left


def mode(parts: list[Part], evaluated: bool) -> tuple[bool, list[str]]:
    """Whether the file begins with `from __future__ import annotations`, and the modules whose annotations are quoted
    instead.

    The import at the top would change the annotations of every module; so it is used only when all modules with
    annotations had it, and when none is `evaluated` although it was a string (a dataclass field's).
    """
    with_future: dict[str, None] = {}
    without = False
    if any("annotations" in part.module.future for part in parts):
        for part in parts:
            if stored(part.node):
                if "annotations" in part.module.future:
                    with_future[part.module.name] = None
                else:
                    without = True
    if with_future and (without or evaluated):
        return False, list(with_future)
    return bool(with_future), []
