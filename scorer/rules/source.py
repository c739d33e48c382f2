"""A submission's text, parsed twice: by ast-grep for the rules' patterns, by `ast` for the checks.

Names are resolved through the file's imports, so that `from os import getenv as g` hides nothing: `g` is `os.getenv`.
"""

from __future__ import annotations

import ast
import builtins
import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property

from ast_grep_py import SgNode, SgRoot

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Hit:
    """One place where a rule matches: the line (from 1), and the words that its message names."""

    line: int
    words: dict[str, str] = field(default_factory=dict)


class Source:
    """One Python file. Raises SyntaxError where it is none."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)

    @cached_property
    def root(self) -> SgNode:
        """The file as ast-grep sees it."""
        return SgRoot(self.text, "python").root()

    @cached_property
    def lines(self) -> list[str]:
        """The lines as Python counts them."""
        return self.text.split("\n")

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node, outer ones first."""
        return list(ast.walk(self.tree))

    @cached_property
    def functions(self) -> list[Function]:
        """Every function, outer ones first."""
        return [node for node in self.nodes if isinstance(node, Function)]

    @cached_property
    def top_level(self) -> dict[str, Function | ast.ClassDef]:
        """Functions and classes that the module itself defines."""
        return {
            s.name: s for s in self.tree.body if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        }

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Local name -> what it was imported as: {"np": "numpy", "g": "os.getenv"}; also through `g = os.getenv`."""
        names: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    names[alias.asname or alias.name.split(".")[0]] = (
                        alias.name if alias.asname else alias.name.split(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        for node in self.nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                name, dotted = node.targets[0].id, _dotted(node.value)
                root = dotted.partition(".")[0] if dotted else ""
                if dotted and root in names and name not in names and self._bindings[name] == 1:
                    names[name] = names[root] + dotted[len(root) :]
        return names

    @cached_property
    def _bindings(self) -> dict[str, int]:
        """How often each name is assigned, as a variable or a parameter, anywhere in the file."""
        counts: dict[str, int] = {}
        for node in self.nodes:
            name = None
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                name = node.id
            elif isinstance(node, ast.arg):
                name = node.arg
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = node.name
            if name is not None:
                counts[name] = counts.get(name, 0) + 1
        return counts

    @cached_property
    def _hidden(self) -> dict[str, list[tuple[int, int]]]:
        """Name -> (first line, last line) of every function that has a parameter or variable of this name."""
        found: dict[str, list[tuple[int, int]]] = {}
        for function in self.functions:
            names: set[str] = set()
            for node in ast.walk(function):
                if isinstance(node, ast.arg):
                    names.add(node.arg)
                elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    names.add(node.id)
            for name in names:
                found.setdefault(name, []).append((function.lineno, function.end_lineno or function.lineno))
        return found

    def shadowed(self, name: str, line: int) -> bool:
        """Whether a function around this line has a parameter or variable of this name, which hides the module's."""
        if name in self.aliases and self._bindings.get(name, 0) == 1 and self.aliases[name] != name:
            return False  # the one binding is the alias itself
        return any(first <= line <= last for first, last in self._hidden.get(name, ()))

    def resolve(self, node: ast.AST) -> str | None:
        """The full name of an expression that is a name or an attribute of one: "os.environ.get", "builtins.exec"."""
        dotted = _dotted(node)
        if dotted is None:
            return None
        name = dotted.partition(".")[0]
        if name in self.aliases:
            return None if self.shadowed(name, getattr(node, "lineno", 0)) else self.full_name(dotted)
        if hasattr(builtins, name) and name not in self._bindings:
            return f"builtins.{dotted}"
        return None

    def full_name(self, dotted: str) -> str:
        """The full name of `a.b.c`, whose first part is an import; the text itself where it is none."""
        name, dot, rest = dotted.partition(".")
        return self.aliases.get(name, name) + dot + rest

    def spellings(self, pattern: str) -> list[str]:
        """Regular expressions of all ways in which this file can write a full name, which may end in `.*`.

        `*` stands for everything that is imported, `*.*` for every attribute of it.
        """
        if pattern in ("*", "*.*"):
            rest = r"(\.\w+)*" if pattern == "*" else r"(\.\w+)+"
            return [re.escape(local) + rest for local in self.aliases]
        found = []
        for local, full in self.aliases.items():
            if fnmatchcase(full, pattern):
                found.append(re.escape(local) + (r"(\.\w+)*" if pattern.endswith("*") else ""))
            elif pattern.startswith(full + "."):
                found.append(re.escape(local) + _expression(pattern[len(full) :]))
        name = pattern.removeprefix("builtins.")
        if name != pattern and name not in self._bindings and name not in self.aliases:
            found.append(_expression(name))
        return found


def _expression(pattern: str) -> str:
    return re.escape(pattern).replace(r"\*", r"\w+(\.\w+)*")


def _dotted(node: ast.AST) -> str | None:
    """`a.b.c` as text, for a chain of attributes on a name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])
