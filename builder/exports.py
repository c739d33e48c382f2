"""What a module's `__all__` lists, as far as it is written down: lists and tuples of strings, added together, with
those of other modules of the recipe among them.

    __all__ = ["norm", *ops.__all__]
    __all__ += ["GPT"]
    __all__.append("Block")
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from builder.scan import Module


class ComputedError(Exception):
    """An `__all__` that only running the module would show; `node` is the statement that computes it."""

    def __init__(self, node: ast.stmt) -> None:
        self.node = node
        super().__init__("computed")


def declared(module: Module, other: Callable[[ast.Attribute], list[str] | None]) -> list[str] | None:
    """The names that `__all__` lists, None where a module has none. Raises ComputedError.

    `other` gives what `ops.__all__` lists; None when that is not a module of the recipe with an `__all__`.
    """
    if not any(o.name == "__all__" for o in module.scope.occurrences):
        return None
    parts = {o.part for o in module.scope.occurrences if o.name == "__all__" and not o.scope.deferred}
    names: list[str] | None = None
    for index in sorted(parts):
        node = module.parts[index].node
        added: list[str] | None = None
        match node:
            case (
                ast.Assign(targets=[ast.Name(id="__all__")], value=value)
                | ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value)
            ):
                names, added = [], _listed(value, names, other)
            case (
                ast.AugAssign(target=ast.Name(id="__all__"), op=ast.Add(), value=value)
                | ast.Expr(
                    value=ast.Call(
                        func=ast.Attribute(value=ast.Name(id="__all__"), attr="extend"), args=[value], keywords=[]
                    )
                )
            ):
                added = _listed(value, names, other)
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id="__all__"), attr="append"),
                    args=[ast.Constant(value=str(name))],
                    keywords=[],
                )
            ):
                added = [name]
            case _ if not _binds_or_changes(module, index):
                continue
        if names is None or added is None:
            raise ComputedError(node)
        names += added
    return names


def _listed(
    value: ast.expr, own: list[str] | None, other: Callable[[ast.Attribute], list[str] | None]
) -> list[str] | None:
    """The strings of an expression; None where they are not written down."""
    match value:
        case ast.List(elts=items) | ast.Tuple(elts=items):
            found: list[str] = []
            for item in items:
                inner = _listed(item.value, own, other) if isinstance(item, ast.Starred) else None
                if isinstance(item, ast.Constant) and isinstance(item.value, str):
                    inner = [item.value]
                if inner is None:
                    return None
                found += inner
            return found
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            one, two = _listed(left, own, other), _listed(right, own, other)
            return None if one is None or two is None else one + two
        case ast.Attribute(attr="__all__"):
            return other(value)
        case ast.Name(id="__all__"):
            return own
        case ast.Call(func=ast.Name(id="list" | "tuple" | "sorted"), args=[inner], keywords=[]):
            return _listed(inner, own, other)
    return None


def _binds_or_changes(module: Module, part: int) -> bool:
    """Whether a part may change `__all__`: anything but reading it by name in a plain expression or a function."""
    node = module.parts[part].node
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    found = [o for o in module.by_part.get(part, []) if o.name == "__all__" and not o.scope.deferred]
    return any(o.kind != "load" or o.attributes for o in found)
