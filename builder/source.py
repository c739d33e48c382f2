"""One source file: its text with `\\n` line ends, and exact offsets of syntax-tree nodes in it.

The tree speaks of lines and UTF-8 byte columns; everything else in the builder speaks of character offsets.
"""

from __future__ import annotations

import ast
import bisect
import codecs
import functools
import hashlib
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from builder import nesting, strings
from builder.errors import refuse


class Positioned(Protocol):
    """Any node that the parser gives a place: statements, expressions, arguments, aliases, patterns."""

    @property
    def lineno(self) -> int:
        """First line, 1-based."""

    @property
    def col_offset(self) -> int:
        """Byte column of the first character."""

    @property
    def end_lineno(self) -> int | None:
        """Last line."""

    @property
    def end_col_offset(self) -> int | None:
        """Byte column behind the last character."""


BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_BLOCKS: dict[type, tuple[str, ...]] = {}
BLANK = " \t\f\n\\"
TOKEN = re.compile(strings.OPENING.pattern + r"|#")
WIDE = re.compile(r"[^\x00-\x7f]")


@dataclass(frozen=True)
class Lexical:
    """Comments by where they begin and by where they end, and the lines (1-based) that begin inside a string."""

    comments: dict[int, int]
    comment_ends: dict[int, int]
    inside: frozenset[int]


class Source:
    """Text and offsets. `name` is the path that messages, map and manifest show: posix, relative to the package's
    parent.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.sha256 = hashlib.sha256(text.encode()).hexdigest()
        self._starts = [0]
        for line in text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self.lines = text.count("\n") + (not text.endswith("\n"))
        self.own_lines = self.lines  # of the file itself, without what was written below
        self._ascii = text.isascii()
        self._wide: dict[int, tuple[list[int], list[int]]] = {}

    @classmethod
    def read(cls, path: Path, name: str) -> Source:
        """Read a Python file: its declared encoding, no byte order mark, `\\n` line ends whatever the checkout has."""
        try:
            data = path.read_bytes()
        except OSError as error:
            raise refuse("BLD001", name, 0, f"cannot be read: {error.strerror}", "make the file readable") from error
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            text = data.removeprefix(codecs.BOM_UTF8).decode(encoding)
        except (SyntaxError, UnicodeDecodeError, LookupError) as error:
            raise refuse("BLD001", name, 1, f"cannot be decoded: {error}", "save the file as UTF-8") from error
        return cls(name, text.replace("\r\n", "\n").replace("\r", "\n"))

    def rewritten(self, text: str) -> Source:
        """The same file with another text, of as many lines and more below."""
        source = Source(self.name, text)
        source.sha256, source.own_lines = self.sha256, self.own_lines
        return source

    def parse(self, target: str) -> ast.Module:
        """The syntax tree; a syntax error is a build error with its line. `target` is the contest's Python."""
        if "\0" in self.text:
            line = self.line(self.text.index("\0"))
            raise refuse("BLD001", self.name, line, "not Python: a NUL byte", "remove the NUL bytes")
        try:
            return nesting.parse(self.text)
        except nesting.TooDeepError as error:
            raise refuse("BLD001", self.name, error.line, str(error), nesting.REMEDY) from error
        except SyntaxError as error:
            message, remedy = f"not Python: {error.msg}", "correct the syntax of this line"
            if tuple(map(int, target.split("."))) > sys.version_info[:2]:
                running = f"{sys.version_info[0]}.{sys.version_info[1]}"
                remedy += f"; if Python {running} is too old for it, run the builder under the contest's {target}"
            raise refuse("BLD001", self.name, error.lineno or 1, message, remedy) from error

    def offset(self, line: int, column: int) -> int:
        """Character offset of a 1-based line and a UTF-8 byte column."""
        start = self._starts[line - 1]
        if self._ascii:
            return start + column
        if line not in self._wide:
            self._wide[line] = _wide(self.text[start : self._starts[line]])
        columns, extra = self._wide[line]
        return start + column - extra[bisect.bisect_left(columns, column)]

    def start(self, node: Positioned) -> int:
        """Offset of the node's first character (for a decorated definition, that of `def` or `class`)."""
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: Positioned) -> int:
        """Offset behind the node's last character."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.offset(node.end_lineno, node.end_col_offset)

    def statement_start(self, node: ast.stmt) -> int:
        """Offset of a statement's first character, its first decorator's `@` included."""
        decorators = getattr(node, "decorator_list", None)
        return self.text.rindex("@", 0, self.start(decorators[0])) if decorators else self.start(node)

    def line(self, offset: int) -> int:
        """1-based line of an offset."""
        return bisect.bisect_right(self._starts, offset, hi=len(self._starts) - 1)

    def line_start(self, offset: int) -> int:
        """Offset at which the line of `offset` begins."""
        return self._starts[self.line(offset) - 1]

    def line_end(self, offset: int) -> int:
        """Offset of the line feed that ends the line of `offset`, or the end of the text."""
        return min(self._starts[self.line(offset)] - 1, len(self.text))

    @functools.cached_property
    def lexical(self) -> Lexical:
        """Where comments and multi-line strings are."""
        return _lex(self)

    def grow(self, start: int, end: int, low: int, high: int) -> tuple[int, int]:
        """The span widened by the parentheses around it, within [low, high)."""
        while True:
            before, behind = self.skip_back(start, low), self.skip_on(end, high)
            if not (before > low and behind < high and self.text[before - 1] == "(" and self.text[behind] == ")"):
                return start, end
            start, end = before - 1, behind + 1

    def skip_on(self, at: int, high: int) -> int:
        """The first offset at or after `at` that is neither blank nor in a comment."""
        comments = self.lexical.comments
        while at < high and (self.text[at] in BLANK or at in comments):
            at = comments.get(at, at + 1)
        return at

    def skip_back(self, at: int, low: int) -> int:
        """The last offset at or before `at` that has something other than blanks and comments right before it."""
        while at > low:
            comment = self.lexical.comment_ends.get(at)
            if comment is not None:
                at = comment
            elif self.text[at - 1] in BLANK:
                at -= 1
            else:
                break
        return at

    def comments_below(self, end: int, column: int) -> int:
        """Behind the comment lines that follow the line of `end` and are indented deeper than `column`, blank lines
        between them included; `end` where there are none.
        """
        last, line = 0, self.line(end) + 1
        while line <= self.lines:
            text = self.line_text(line)
            left = text.lstrip()
            if left.startswith("#") and len(text) - len(left) > column:
                last = line
            elif left:
                break
            line += 1
        return self._starts[last] - 1 if last else end

    def line_text(self, line: int) -> str:
        """The text of a 1-based line, without its line feed."""
        return self.text[self._starts[line - 1] : self._starts[line] - 1]


def _blocks(node: ast.AST) -> tuple[str, ...]:
    """The fields of a kind of nodes that hold statements."""
    kind = type(node)
    if kind not in _BLOCKS:
        _BLOCKS[kind] = tuple(name for name in BLOCKS if name in kind._fields)
    return _BLOCKS[kind]


def inner_statements(node: ast.AST) -> Iterator[ast.stmt | ast.ExceptHandler | ast.match_case]:
    """The statements (and handlers and cases) directly inside a statement, without looking at expressions."""
    for name in _blocks(node):
        inner = getattr(node, name)
        if isinstance(inner, list):  # not the one expression of a lambda or `a if b else c`
            yield from inner


def all_statements(node: ast.AST) -> Iterator[ast.stmt | ast.ExceptHandler | ast.match_case]:
    """The statements (and handlers and cases) at any depth inside a statement or module, expressions left aside."""
    waiting = [iter(inner_statements(node))]
    while waiting:
        child = next(waiting[-1], None)
        if child is None:
            waiting.pop()
        else:
            yield child
            if _blocks(child):
                waiting.append(inner_statements(child))


def _wide(text: str) -> tuple[list[int], list[int]]:
    """Of a line: the byte columns of the characters that take several bytes, and for each how many bytes those before
    it take more than one apiece (one more entry for the line's end).
    """
    columns, extra = [], [0]
    for match in WIDE.finditer(text):
        columns.append(match.start() + extra[-1])
        extra.append(extra[-1] + len(match.group().encode()) - 1)
    return columns, extra


def without_comments(text: str) -> str:
    """Code without its comments; line feeds stay."""
    at, kept = 0, []
    while match := TOKEN.search(text, at):
        if match.group() == "#":
            kept.append(text[at : match.start()].rstrip(" \t"))
            end = text.find("\n", match.start())
            at = len(text) if end < 0 else end
        else:
            end = strings.skip(text, match.start())
            kept.append(text[at:end])
            at = end
    return "".join([*kept, text[at:]])


def _lex(source: Source) -> Lexical:
    text, at = source.text, 0
    comments: dict[int, int] = {}
    inside: set[int] = set()
    while match := TOKEN.search(text, at):
        if match.group() == "#":
            at = source.line_end(match.start())
            comments[match.start()] = at
        else:
            at = strings.skip(text, match.start())
            first, last = source.line(match.start()), source.line(at)
            inside.update(range(first + 1, last + 1))
    return Lexical(comments, {end: start for start, end in comments.items()}, frozenset(inside))
