"""The number that an expression is, where the text of the file says it."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from scorer.rules.scopes import scopes
from scorer.rules.source import Source

Number = int | float
OPERATIONS: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
DEPTH = 8  # names and operations that are followed


def number(source: Source, node: ast.AST | None, depth: int = DEPTH) -> Number | None:
    """The value of a literal, of arithmetic with literals, or of a name that is bound once, to such; None: unknown."""
    if node is None or depth == 0:
        return None
    if isinstance(node, ast.Constant):
        value = node.value
        return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = number(source, node.operand, depth - 1)
        return None if value is None else -value
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
        left, right = number(source, node.left, depth - 1), number(source, node.right, depth - 1)
        if left is None or right is None or (right == 0 and isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mod))):
            return None
        return OPERATIONS[type(node.op)](left, right)
    if isinstance(node, ast.Name):
        bound = scopes(source).of(node.id, node)
        if len(bound) == 1 and bound[0].whole and not bound[0].parameter and not scopes(source).tests(bound[0]):
            return number(source, bound[0].value, depth - 1)
    return None


def plain(value: Number) -> str:
    """A number as a reader would write it: 1,800 and 0.5."""
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
