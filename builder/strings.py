"""String tokens: where they begin and end, what an f-string holds, how a frozen value is written as a literal.

Python before 3.12 gives no exact places inside f-strings, so the builder finds their replacement fields itself, on
every version alike.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from builder import trees

OPENING = re.compile(r"((?:[rR][bBfF]|[bBfF][rR]|[rRbBfFuU])?)('''|\"\"\"|'|\")")
LABEL = re.compile(r"=[ \t\n]*[!:}]")
BLANK = re.compile(r"(?:[ \t\f\n]|\\\n|\#[^\n]*)*")


@dataclass(frozen=True)
class Field:
    """One `{expression}` of an f-string, by offsets into the module's text."""

    start: int
    end: int
    debug: bool  # `{expression=}`: the text of the expression is part of the result
    quote: str  # quote of the string around it
    raw: bool  # whether that string takes backslashes as they are


def tokens(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans of the string tokens of one (perhaps implicitly concatenated) string expression."""
    at = start
    while at < end:
        match = OPENING.match(text, at)
        if match is None:
            at = BLANK.match(text, at).end()  # type: ignore[union-attr]  # matches the empty text too
            if at < end and OPENING.match(text, at) is None:
                at += 1  # a parenthesis between the pieces
            continue
        stop = skip(text, at)
        yield at, stop
        at = stop


def skip(text: str, at: int) -> int:
    """Offset behind the string token that begins at `at`."""
    match = OPENING.match(text, at)
    assert match is not None
    prefix, quote = match.group(1).lower(), match.group(2)
    if "f" in prefix:
        return _scan_formatted(text, match.end(), quote, "r" in prefix, [])
    return _skip_plain(text, match.end(), quote)


def _skip_plain(text: str, at: int, quote: str) -> int:
    while not text.startswith(quote, at):
        at += 2 if text[at] == "\\" else 1
    return at + len(quote)


def fields(text: str, start: int, end: int) -> list[Field]:
    """The fields of an f-string expression, in the order of the tree: a field before those of its format."""
    found: list[Field] = []
    for at, _ in tokens(text, start, end):
        match = OPENING.match(text, at)
        assert match is not None
        if "f" in match.group(1).lower():
            _scan_formatted(text, match.end(), match.group(2), "r" in match.group(1).lower(), found)
    return found


def _scan_formatted(text: str, at: int, quote: str, raw: bool, found: list[Field]) -> int:
    """Read an f-string's body from `at`; returns the offset behind its closing quote."""
    while not text.startswith(quote, at):
        if text[at] == "\\" and not raw:
            at += 2 if not text.startswith("N{", at + 1) else text.index("}", at) - at + 1
        elif text[at] == "\\":
            at += 1 if text.startswith(("{", "}"), at + 1) else 2
        elif text.startswith(("{{", "}}"), at):
            at += 2
        elif text[at] == "{":
            at = _scan_field(text, at + 1, quote, raw, found)
        else:
            at += 1
    return at + len(quote)


def _scan_field(text: str, at: int, quote: str, raw: bool, found: list[Field]) -> int:
    """Read one field from behind its `{`; returns the offset behind its `}`."""
    start, depth = at, 0
    while True:
        character = text[at]
        opening = OPENING.match(text, at)
        if opening and not (opening.group(1) and (text[at - 1].isalnum() or text[at - 1] == "_")):
            at = skip(text, at)
            continue
        if character == "#":
            at = text.index("\n", at)
            continue
        if character in "([{":
            depth += 1
        elif depth and character in ")]}":
            depth -= 1
        elif not depth and character in "!:}=":
            if character == "=" and text[at + 1] != "=" and text[at - 1] not in "=!<>":
                label = LABEL.match(text, at)
                if label:
                    found.append(Field(start, at, True, quote, raw))
                    at = label.end() - 1
                    break
            elif character in ":}" or (character == "!" and text[at + 1] != "="):
                found.append(Field(start, at, False, quote, raw))
                break
        at += 1
    if text[at] == "!":
        at = min(i for i in (text.find(":", at), text.find("}", at)) if i >= 0)
    if text[at] == ":":
        at += 1
        while text[at] != "}":
            if text[at] == "{":
                at = _scan_field(text, at + 1, quote, raw, found)
            else:
                at += 1
    return at + 1


def literal(value: object, avoid: str = "") -> str | None:
    """A frozen value as Python source, equal to the last bit; None where it has no such form.

    `avoid` are the quotes of f-strings around it: neither they nor a backslash may then occur (before Python 3.12).
    """
    text = _literal(value, "'" if '"' in avoid else '"')
    if text is None or (avoid and any(character in text for character in (*avoid, "\\"))):
        return None
    return text


def formatted(text: str, quote: str, raw: bool) -> str | None:
    """Text as the literal part of an f-string; None where a raw string cannot hold it."""
    if raw and ("\\" in text or any(character in text for character in quote) or not text.isprintable()):
        return None
    if not raw:
        text = text.encode("unicode_escape").decode("ascii") if not text.isprintable() else text.replace("\\", "\\\\")
        text = text.replace(quote[-1], f"\\{quote[-1]}")
    return text.replace("{", "{{").replace("}", "}}")


def _literal(value: object, quote: str) -> str | None:
    if value is None or isinstance(value, (bool, int)):
        return repr(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else None
    if isinstance(value, str):
        return _quoted(value, quote)
    if isinstance(value, (tuple, list)):
        items = [_literal(item, quote) for item in value]
        if any(item is None for item in items):
            return None
        inner = ", ".join(item for item in items if item is not None)
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(items) == 1 else f"({inner})"
    if isinstance(value, dict):
        pairs = [(_literal(key, quote), _literal(item, quote)) for key, item in value.items()]
        if any(key is None or item is None for key, item in pairs):
            return None
        return "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
    return None


def _quoted(value: str, quote: str) -> str:
    plain = repr(value)
    if quote == '"' and plain.startswith("'") and '"' not in value:
        return f'"{plain[1:-1]}"'
    return plain


def parse_field(text: str, field: Field, line: int, column: int) -> ast.expr:
    """The expression of a field, its nodes placed where they stand in the module (`line`, UTF-8 `column` of
    `field.start`).
    """
    name = text[field.start : field.end]
    if name.isidentifier() and name.isascii() and not keyword.iskeyword(name):
        place = {"lineno": line, "col_offset": column, "end_lineno": line, "end_col_offset": column + len(name)}
        return ast.Name(name, ast.Load(), **place)
    tree = ast.parse(f"({text[field.start : field.end]}\n)", mode="eval").body
    for node in trees.nodes(tree):
        if hasattr(node, "lineno"):
            _shift(node, line, column)
    return tree


def _shift(node: ast.AST, line: int, column: int) -> None:
    for row, col in (("lineno", "col_offset"), ("end_lineno", "end_col_offset")):
        if getattr(node, row) == 1:
            setattr(node, col, getattr(node, col) + column - 1)  # the parenthesis that parse_field puts before it
        setattr(node, row, getattr(node, row) + line - 1)
