"""Licences that code of a recipe carries: whatever else an artifact drops, these stay, in its header.

A module's licence is a block of comments above its first statement, or paragraphs of its docstring, that speak of one.
That of a package's `__init__.py` goes for the modules in it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from builder.scan import Module, Program

SPEAKS_OF_ONE = re.compile(
    r"SPDX-|\bCopyright\b|\bLicen[cs]ed?\b|©|\(c\) \d{4}|All rights reserved|Permission is hereby granted"
    r"|Redistributions? (and use|of source|in binary)|WARRANT(Y|IES)|IS PROVIDED",
    re.IGNORECASE,
)
NO_TEXT = re.compile(r"#(!|.*coding[:=])")


def comment_lines(module: Module) -> frozenset[int]:
    """The lines (1-based) above a module's first statement, docstring aside, that are comments about its licence."""
    source, body = module.source, module.tree.body
    is_docstring = bool(body) and _is_text(body[0])
    after = body[1:] if is_docstring else body
    end = source.line(source.statement_start(after[0])) if after else source.lines + 1
    inside = range(body[0].lineno, (body[0].end_lineno or 0) + 1) if is_docstring else range(0)
    found: set[int] = set()
    block: list[int] = []
    for line in range(1, end + 1):
        if line < end and line not in inside and source.line_text(line).startswith("#"):
            block.append(line)
        else:
            texts = [i for i in block if not NO_TEXT.match(source.line_text(i))]
            if any(SPEAKS_OF_ONE.search(source.line_text(i)) for i in texts):
                found.update(texts)
            block = []
    return frozenset(found)


def docstring_lines(module: Module) -> tuple[int, int]:
    """The lines of the cleaned docstring (0-based, end excluded) from the first paragraph about a licence to the last;
    (0, 0) where there is none.
    """
    lines = (ast.get_docstring(module.tree) or "").split("\n")
    begin = 0
    found: list[tuple[int, int]] = []
    for end in range(len(lines) + 1):
        if end == len(lines) or not lines[end].strip():
            if any(SPEAKS_OF_ONE.search(line) for line in lines[begin:end]):
                found.append((begin, end))
            begin = end + 1
    return (found[0][0], found[-1][1]) if found else (0, 0)


def licence(module: Module) -> list[tuple[str, int]]:
    """A module's licence as comment lines, each with the line that it stands in."""
    found = [(module.source.line_text(line), line) for line in sorted(comment_lines(module))]
    begin, end = docstring_lines(module)
    if begin < end:
        lines = (ast.get_docstring(module.tree) or "").split("\n")[begin:end]
        first = module.tree.body[0].lineno
        found += [(f"# {text}".rstrip(), first + begin + i) for i, text in enumerate(lines)]
    return found


def carriers(program: Program, kept: Iterable[Module]) -> list[tuple[Module, list[str]]]:
    """The modules whose licences go for kept code, in order, each with the names of the kept files that carry it.

    Files with the same licence text are named together.
    """
    by_text: dict[tuple[str, ...], tuple[Module, list[str]]] = {}
    for module in kept:
        words = module.name.split(".")
        for name in [".".join(words[:i]) for i in range(1, len(words))] + [module.name]:
            owner = program.modules.get(name)
            lines = tuple(text for text, _ in licence(owner)) if owner else ()
            if owner and lines:
                _, files = by_text.setdefault(lines, (owner, []))
                if module.source.name not in files:
                    files.append(module.source.name)
    return list(by_text.values())


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
