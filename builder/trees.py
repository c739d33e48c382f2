"""Walking syntax trees, faster than by `ast.walk`: contexts and operators, which hold nothing, are left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

EMPTY = ("arg", "attr", "ctx", "id", "op", "ops", "type_comment")  # fields in which no names or expressions stand
_FIELDS: dict[type, tuple[str, ...]] = {}


def inner_fields(node: ast.AST) -> tuple[str, ...]:
    """The fields of a node in which other nodes may stand."""
    kind = type(node)
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(field for field in kind._fields if field not in EMPTY)
    return _FIELDS[kind]


def root_of(node: ast.AST) -> ast.AST:
    """The innermost value of an attribute chain."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a tree, in the order of `ast.walk`: level by level."""
    found = [tree]
    for node in found:
        yield node
        for field in inner_fields(node):
            value = getattr(node, field, None)
            if isinstance(value, list):
                found.extend([item for item in value if isinstance(item, ast.AST)])
            elif isinstance(value, ast.AST):
                found.append(value)


def parents(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    """The node around each node of a tree."""
    found: dict[ast.AST, ast.AST] = {}
    for node in nodes(tree):
        for field in inner_fields(node):
            value = getattr(node, field, None)
            if isinstance(value, list):
                found.update({item: node for item in value if isinstance(item, ast.AST)})
            elif isinstance(value, ast.AST):
                found[value] = node
    return found
