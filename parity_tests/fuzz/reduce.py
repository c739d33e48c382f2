"""A failing program made small: statements and modules are taken out for as long as it fails in the same way."""

from __future__ import annotations

import ast
from collections.abc import Callable

BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def reduce(files: dict[str, str], fails: Callable[[dict[str, str]], bool], rounds: int = 6) -> dict[str, str]:
    """The smallest program found that still fails."""
    for _ in range(rounds):
        before = dict(files)
        for name in sorted(files, key=lambda name: (name == "pkg/train.py", name)):
            without = {other: text for other, text in files.items() if other != name}
            if name != "pkg/train.py" and fails(without):
                files = without
                continue
            if not name.endswith(".py"):
                continue
            files = _statements(files, name, fails)
        if files == before:
            break
    return files


def _statements(files: dict[str, str], name: str, fails: Callable[[dict[str, str]], bool]) -> dict[str, str]:
    """Try every smaller form of one file: a statement less, a block in the place of its statement, a simpler value."""
    index = 0
    while True:
        tree = ast.parse(files[name])
        places = list(_smaller(tree))
        if index >= len(places):
            return files
        places[index]()
        try:
            text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
            compile(text, name, "exec")
        except (SyntaxError, ValueError, AttributeError):
            index += 1
            continue
        candidate = {**files, name: text}
        if text != files[name] and len(text) < len(files[name]) + 2 and fails(candidate):
            files = candidate
        else:
            index += 1


def _smaller(tree: ast.Module) -> list[Callable[[], None]]:
    """Changes that make a tree smaller, the big ones first; each works on this tree once."""
    changes: list[Callable[[], None]] = []
    for node in ast.walk(tree):
        for field in BLOCKS:
            block = getattr(node, field, None)
            if isinstance(block, list):
                changes += [_without(node, field, i) for i in range(len(block))]
                changes += [_unwrapped(block, i) for i in range(len(block)) if getattr(block[i], "body", None)]
        for field in ("decorator_list", "bases", "keywords", "names", "ifs"):
            items = getattr(node, field, None)
            if isinstance(items, list):
                changes += [_without(node, field, i) for i in range(len(items))]
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and not isinstance(value, (ast.Constant, ast.Name, ast.Starred)):
                changes.append(_replaced(node, field, ast.Constant(1)))
                changes += [_replaced(node, field, child) for child in ast.iter_child_nodes(value)]
            elif field in ("returns", "annotation") and value is not None:
                changes.append(_replaced(node, field, None))
    return changes


def _without(node: ast.AST, field: str, index: int) -> Callable[[], None]:
    def change() -> None:
        block = getattr(node, field)
        del block[index]
        if not block and field == "body" and not isinstance(node, ast.Module):
            block.append(ast.Pass())

    return change


def _unwrapped(block: list[ast.stmt], index: int) -> Callable[[], None]:
    def change() -> None:
        block[index : index + 1] = getattr(block[index], "body")  # noqa: B009  (a statement that has one)

    return change


def _replaced(node: ast.AST, field: str, value: object) -> Callable[[], None]:
    return lambda: setattr(node, field, value)
