"""Cutting statements, blocks and list items out of source text, so that what is left reads as if written so."""

from __future__ import annotations

import ast

from builder.edits import Edit, Piece, Span
from builder.rewrite import Rewrite
from builder.source import Source


class Surgeon:
    """Writes text edits into a module's Rewrite, and marks as dead what they remove."""

    def __init__(self, source: Source, rewrite: Rewrite) -> None:
        self.source = source
        self.text = source.text
        self.rewrite = rewrite

    def edit(self, start: int, end: int, *pieces: Piece) -> None:
        """Replace [start, end) by pieces."""
        self.rewrite.edits.append(Edit(start, end, pieces))

    def cut(self, start: int, end: int) -> None:
        """Remove [start, end), which is dead."""
        self.edit(start, end)
        self.rewrite.kill(start, end)

    def remove(self, body: list[ast.stmt], gone: list[int]) -> None:
        """Take statements out of a block's text, runs of neighbours together, with the comments right above them."""
        while gone:
            first = last = gone.pop(0)
            while gone and gone[0] == last + 1:
                last = gone.pop(0)
            self.remove_run(body, first, last)

    def remove_run(self, body: list[ast.stmt], first: int, last: int) -> None:
        """Take the neighbours body[first] to body[last] out; `pass` stands for them where the block would be empty."""
        source, text = self.source, self.text
        start, end = source.statement_start(body[first]), source.end(body[last])
        self.rewrite.kill(start, end)
        above = source.end(body[first - 1]) if first else 0
        below = source.statement_start(body[last + 1]) if last + 1 < len(body) else len(text)
        own_lines = not text[source.line_start(start) : start].strip() and source.line_end(end) < below
        if own_lines:
            end = source.comments_below(end, body[first].col_offset)
        if (not first and last + 1 == len(body)) or not own_lines:
            self.edit(start, end, "pass")
        elif first:
            top = source.line(self.comments_above(start, above))
            if (
                source.line(end) < source.lines and not source.line_text(source.line(end) + 1).strip()
            ):  # one blank line of two is enough
                while not source.line_text(top - 1).strip() and source.offset(top - 1, 0) > above:
                    top -= 1
            self.edit(source.offset(top, 0) - 1, source.line_end(end))
        else:
            self.edit(self.comments_above(start, above), self.first_below(end, below))

    def first_below(self, end: int, below: int) -> int:
        """The first comment on a line of its own below `end`, or the statement at `below`."""
        source = self.source
        for line in range(source.line(end) + 1, source.line(below)):
            text = source.line_text(line)
            if text.lstrip().startswith("#"):
                return source.offset(line, 0) + len(text) - len(text.lstrip())
        return below

    def comments_above(self, start: int, low: int) -> int:
        """Where the comment lines directly above a statement begin, or the statement where there are none.

        Those that are indented deeper belong to the block above.
        """
        source = self.source
        line = top = source.line(start)
        if not self.starts_line(start):
            return start
        column = start - source.line_start(start)
        while top > 1 and source.offset(top - 1, 0) >= low:
            text = source.line_text(top - 1)
            if not text.lstrip().startswith("#") or len(text) - len(text.lstrip()) > column:
                break
            top -= 1
        above = source.line_text(top)
        return start if top == line else source.offset(top, 0) + len(above) - len(above.lstrip())

    def line_or_end(self, end: int, low: int) -> int:
        """Behind the comment that follows on the line of `end`."""
        line_end = self.source.line_end(end)
        return line_end if self.text[end:line_end].lstrip().startswith("#") else max(end, low)

    def extent(self, node: ast.If | ast.Match | ast.Try, chosen: list[ast.stmt]) -> tuple[int, int]:
        """The text of a block: the comments above its first statement (below the header) to the comment behind its
        last.
        """
        source = self.source
        start, end = source.statement_start(chosen[0]), source.end(chosen[-1])
        header = source.end(node.test) if isinstance(node, ast.If) and chosen is node.body else self.before(start)
        begin, stop = self.comments_above(start, header), self.line_or_end(end, end)
        if self.starts_line(start) and self.ends_line(end):
            stop = source.comments_below(stop, chosen[0].col_offset - 1)
        return begin, stop

    def behind(self, node: ast.stmt, low: int) -> int:
        """Behind a branching statement: its comments on the last line, and those that belong to its last block."""
        end = self.line_or_end(self.source.end(node), low)
        if self.starts_line(self.source.start(node)) and self.ends_line(self.source.end(node)):
            end = self.source.comments_below(end, node.col_offset)
        return end

    def ends_line(self, end: int) -> bool:
        """Whether nothing but a comment follows on the line of `end`."""
        rest = self.text[end : self.source.line_end(end)].strip()
        return not rest or rest.startswith("#")

    def before(self, start: int) -> int:
        """The start of the line that carries the header above a block (comments between belong to the block)."""
        source = self.source
        line = source.line(start) - 1
        while line > 1 and source.line_text(line).lstrip().startswith("#"):
            line -= 1
        return source.offset(max(line, 1), 0)

    def splice(self, node: ast.If | ast.Match | ast.Try, chosen: list[ast.stmt]) -> None:
        """Replace a branching statement by one of its blocks, moved out to its indentation."""
        source = self.source
        start, end = source.start(node), source.end(node)
        begin, stop = self.extent(node, chosen)
        own_line = self.starts_line(begin)
        first = source.statement_start(chosen[0])  # comments above it may stand elsewhere
        was = self.text[source.line_start(first) : first] if own_line else ""
        becomes = self.text[source.line_start(start) : start] if own_line else ""
        self.edit(start, max(stop, self.behind(node, stop)), Span(begin, stop, was, becomes))
        self.rewrite.kill(start, begin)
        self.rewrite.kill(stop, end)

    def splice_else(self, node: ast.If, chosen: list[ast.stmt]) -> None:
        """Turn an `elif` whose test is true, or the `else` that is left of its chain, into `else:`."""
        source = self.source
        start, end = source.start(node), source.end(node)
        begin, stop = self.extent(node, chosen)
        if self.starts_line(begin):
            self.edit(start, source.line_start(begin), "else:\n")
        else:
            self.edit(start, begin, "else: ")
        self.edit(stop, max(stop, self.behind(node, stop)))
        self.rewrite.kill(start, begin)
        self.rewrite.kill(stop, end)

    def cut_elif(self, node: ast.If, follower: ast.If) -> None:
        """Remove an `elif` chain of which nothing is left."""
        source = self.source
        above, end = source.end(node.body[-1]), source.end(follower)
        kept = source.comments_below(max(above, source.line_end(above)), node.col_offset)
        self.edit(kept, max(kept, self.behind(follower, end)))
        self.rewrite.kill(source.start(follower), end)
        self.rewrite.cut.add(follower)

    def starts_line(self, offset: int) -> bool:
        """Whether only blanks stand before an offset on its line."""
        return not self.text[self.source.line_start(offset) : offset].strip()

    def remove_items(self, items: list[tuple[int, int]], gone: list[bool], opening: int, closing: int) -> None:
        """Take items out of a comma-separated list between `opening` and `closing` (the offsets inside of its
        parentheses).
        """
        if all(gone):
            self.cut(opening, closing)
            return
        for i, is_gone in enumerate(gone):
            if is_gone:
                self.cut(*self.item_extent(items, gone, i))

    def item_extent(self, items: list[tuple[int, int]], gone: list[bool], i: int) -> tuple[int, int]:
        """What goes with an item: its lines when it has them to itself, else up to the next item or from the one
        before.
        """
        source, (start, end) = self.source, items[i]
        line_end = source.line_end(end)
        behind = self.text[end:line_end].lstrip().removeprefix(",").lstrip()
        if self.starts_line(start) and (not behind or behind.startswith("#")) and line_end < len(self.text):
            return source.line_start(start), line_end + 1
        if any(not is_gone for is_gone in gone[i:]):
            return start, items[i + 1][0]
        return items[i - 1][1], end
