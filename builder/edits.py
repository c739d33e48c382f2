"""Edits to source text that nest, and their rendering to lines that still know which source line they came from."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass

from builder.source import Source, without_comments


@dataclass(frozen=True)
class Span:
    """A piece of the source, itself edited; lines after the first move from indentation `was` to indentation
    `becomes`.
    """

    start: int
    end: int
    was: str = ""
    becomes: str = ""


@dataclass(frozen=True)
class Quote:
    """A piece of the source, itself edited, written as a string literal (an annotation that was never evaluated)."""

    start: int
    end: int
    parentheses: bool = False  # around the text, in the string


Piece = str | Span | Quote


@dataclass(frozen=True)
class Edit:
    """Replace [start, end) by pieces."""

    start: int
    end: int
    pieces: tuple[Piece, ...]


@dataclass
class Line:
    """A rendered line: its text, the source line that it came from, whether it begins inside a string."""

    text: str
    origin: int | None
    inside: bool


class Renderer:
    """Renders spans of one source under its edits."""

    def __init__(self, source: Source, edits: list[Edit]) -> None:
        self.source = source
        self.edits = sorted(
            edits, key=lambda edit: (edit.start, -edit.end, all(isinstance(p, str) for p in edit.pieces))
        )
        self.starts = [edit.start for edit in self.edits]

    def render(self, start: int, end: int) -> list[Line]:
        """The lines of a span; the first may begin in mid-line."""
        return self._render(start, end, 0)

    def _render(self, start: int, end: int, index: int) -> list[Line]:
        index = max(index, bisect.bisect_left(self.starts, start))
        lines = [Line("", None, False)]
        at = start
        while index < len(self.edits) and self.edits[index].start < end:
            edit = self.edits[index]
            index += 1
            if edit.start < at or edit.end > end:
                continue  # inside an edit already made, or around this span
            _join(lines, self._plain(at, edit.start))
            for piece in edit.pieces:
                _join(lines, self._piece(piece, index, self.source.line(edit.start)))
            at = edit.end
        _join(lines, self._plain(at, end))
        return lines

    def _piece(self, piece: Piece, index: int, line: int) -> list[Line]:
        if isinstance(piece, str):
            return [Line(text, line, False) for text in piece.split("\n")]
        rendered = self._render(piece.start, piece.end, index)
        if isinstance(piece, Quote):
            code = without_comments("\n".join(part.text for part in rendered))
            text = " ".join(line.strip() for line in code.split("\n") if line.strip())
            return [Line(quoted(f"({text})" if piece.parentheses else text), rendered[0].origin, False)]
        if piece.was != piece.becomes:
            for moved in rendered[1:]:
                if not moved.inside and moved.text.startswith(piece.was):
                    moved.text = piece.becomes + moved.text[len(piece.was) :]
        return rendered

    def _plain(self, start: int, end: int) -> Iterator[Line]:
        if start >= end:
            return
        number = self.source.line(start)
        inside = self.source.lexical.inside
        for i, text in enumerate(self.source.text[start:end].split("\n")):
            yield Line(text, number + i, i > 0 and number + i in inside)


def quoted(text: str) -> str:
    """Text as a string literal, between double quotes where it can be."""
    return f'"{text}"' if '"' not in text and "\\" not in text else repr(text)


def _join(lines: list[Line], more: Iterator[Line] | list[Line]) -> None:
    """Append, the first new line continuing the last old one."""
    for i, line in enumerate(more):
        if i:
            lines.append(line)
        else:
            last = lines[-1]
            if not last.text.strip() or last.origin is None:
                last.origin = line.origin or last.origin
            last.text += line.text
