"""A submission's text, parsed twice: by ast-grep for the rules' patterns, by `ast` for the checks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cache, cached_property
from typing import Any, overload

from ast_grep_py import SgNode, SgRoot

from scorer.rules.calls import Calls
from scorer.rules.fullnames import Names
from scorer.rules.tree import BLOCKS, Function, N, Tree

__all__ = ["Function", "Hit", "Source"]

Span = tuple[int, int, int, int]  # line, column, last line, column after the end; all from 0, columns in characters


NOTHING = "$^"  # the regular expression that nothing matches


@cache
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Expressions for the names that are wanted, and for those that are taken out again."""
    wanted = [translate(pattern) for pattern in patterns if not pattern.startswith("!")]
    but = [translate(pattern[1:]) for pattern in patterns if pattern.startswith("!")]
    return re.compile("|".join(wanted) or NOTHING), re.compile("|".join(but) or NOTHING)


@dataclass(frozen=True)
class Hit:
    """One place where a rule matches: the line (from 1), and the words that its message names.

    Columns count characters from 1; `end` is the line and the column after the last character. None: the whole line.
    """

    line: int
    words: dict[str, str] = field(default_factory=dict)
    column: int | None = None
    end: tuple[int, int] | None = None


class Source:
    """One Python file, `script` by name. Raises SyntaxError where it is none."""

    def __init__(self, text: str, script: str) -> None:
        self.text, self.script = text, script
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
    def scopes(self) -> Tree:
        """Every node with its parent and scope."""
        return Tree(self.tree)

    @property
    def nodes(self) -> list[ast.AST]:
        """Every node but operators and contexts, in the order of the text."""
        return self.scopes.nodes

    @overload
    def every(self, kind: type[N], /) -> list[N]: ...
    @overload
    def every(self, *kinds: type[ast.AST]) -> list[Any]: ...
    def every(self, *kinds: type[ast.AST]) -> list[Any]:
        """Every node of some kinds, in the order of the text; a loop over them costs less than one over all nodes."""
        return self.scopes.every(*kinds)

    @overload
    def inside(self, node: ast.AST, kind: type[N], /) -> list[N]: ...
    @overload
    def inside(self, node: ast.AST, *kinds: type[ast.AST]) -> list[Any]: ...
    def inside(self, node: ast.AST, *kinds: type[ast.AST]) -> list[Any]:
        """Of a node and what is inside of it, the nodes of some kinds, in the order of the text."""
        return self.scopes.inside(node, *kinds)

    @cached_property
    def blocks(self) -> list[list[ast.stmt]]:
        """Every list of statements, by the node that holds it."""
        lists = (getattr(n, part, None) for n in self.every(*BLOCKS) for part in ("body", "orelse", "finalbody"))
        return [found for found in lists if found]

    def walk(self, node: ast.AST) -> list[ast.AST]:
        """A node and every node inside it, in the order of the text; much cheaper than `ast.walk`."""
        return self.scopes.walk(node)

    def walk_all(self, nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
        """Some nodes and every node inside them."""
        for node in nodes:
            yield from self.scopes.walk(node)

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node around a node."""
        return self.scopes.parent(node)

    @cached_property
    def functions(self) -> list[Function]:
        """Every function, in the order of the text."""
        return self.every(ast.FunctionDef, ast.AsyncFunctionDef)

    @cached_property
    def top_level(self) -> dict[str, Function | ast.ClassDef]:
        """Functions and classes that the module itself defines."""
        return {
            s.name: s for s in self.tree.body if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        }

    @cached_property
    def calls(self) -> Calls:
        """Call sites of the file's own functions."""
        return Calls(self.scopes)

    @cached_property
    def _names(self) -> Names:
        return Names(self.scopes, self.calls, self.script)

    def resolve(self, node: ast.AST) -> str | None:
        """The full name of what an expression stands for: "os.environ.get", "builtins.exec"; None: it has none."""
        return self._names.resolve(node)

    def names(self, node: ast.AST) -> tuple[str, ...]:
        """Every full name that an expression may have."""
        return self._names.names(node)

    def texts(self, node: ast.AST | None) -> tuple[str, ...]:
        """The strings that an expression may be, with a HOLE for each part that is not known."""
        return self._names.texts.texts(node)

    def exact(self, node: ast.AST | None) -> tuple[str, ...] | None:
        """All strings that an expression may be; None where any part of one is not known."""
        return self._names.texts.exact(node)

    def elements(self, node: ast.AST) -> list[ast.expr] | None:
        """What a written-out list, tuple, set or dict (its keys) holds, through a name; None where it is none."""
        return self._names.texts.elements(node)

    def looped(self, iterated: ast.AST, path: tuple[int, ...] = ()) -> list[ast.expr] | None:
        """What a loop over an expression gives its variable, or a part of it; None where it is not written out."""
        return self._names.texts.looped(iterated, path)

    @cached_property
    def named(self) -> dict[str, list[ast.expr]]:
        """Full name -> every expression that stands for it, where it is used (annotations only name a type)."""
        found: dict[str, list[ast.expr]] = {}
        mere = self.scopes.merely_named
        kinds = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.NamedExpr, ast.IfExp, ast.BoolOp)
        for node in self.every(*kinds):
            if id(node) not in mere:
                for name in self.names(node):
                    found.setdefault(name, []).append(node)
        return found

    def standing_for(self, *patterns: str) -> Iterator[tuple[str, ast.expr]]:
        """(full name, expression) of what stands for one of these names.

        They may hold `*`, `?` and `[...]` as file names do; one that begins with `!` takes names out again.
        """
        wanted, but = _compiled(patterns)
        for full, nodes in self.named.items():
            if wanted.match(full) and not but.match(full):
                for node in nodes:
                    yield full, node

    @cached_property
    def imported(self) -> set[str]:
        """Full names of everything that the file imports."""
        found: set[str] = set(self.scopes.star_imports)
        for node in self.every(ast.Import, ast.ImportFrom):
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.update(f"{node.module}.{alias.name}" for alias in node.names)
        return found

    def span(self, node: Any) -> Span:
        """Where an expression or statement stands; what has no place (a `with` item) stands where its statement is."""
        try:
            line, last = node.lineno - 1, node.end_lineno - 1
        except AttributeError:
            return self.span(self.parent(node))
        return line, self._characters(line, node.col_offset), last, self._characters(last, node.end_col_offset)

    def _characters(self, line: int, offset: int) -> int:
        """A column in characters, from one in bytes."""
        text = self.lines[line]
        return offset if text.isascii() else len(text.encode()[:offset].decode())

    def segment(self, node: Any) -> str:
        """The text of an expression or statement."""
        line, start, last, end = self.span(node)
        if line == last:
            return self.lines[line][start:end]
        return "\n".join([self.lines[line][start:], *self.lines[line + 1 : last], self.lines[last][:end]])

    def hit(self, node: Any, **words: str) -> Hit:
        """A hit at a node; TEXT is its first line unless it is given."""
        line, start, last, end = self.span(node)
        text = self.lines[line][start : end if line == last else None]
        return Hit(line + 1, {"TEXT": text, **words}, start + 1, (last + 1, end + 1))
