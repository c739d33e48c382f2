"""Findings for people, with the line that each is about, and as JSON."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from scorer.listing.located import Located

WIDEST = 120  # characters of a source line that are shown


def print_located(findings: Sequence[Located], console: Console) -> None:
    """Print findings as `file:line:column: CODE [advice]: message`, its line, a mark, what to do; then counts."""
    for found in findings:
        _print_finding(found, console)
    counts = Counter(found.finding.code for found in findings)
    for code, count in sorted(counts.items()):
        title = next(found.code.title for found in findings if found.finding.code == code)
        console.print(Text(f"{count:5} {code} {title}", style="dim"), soft_wrap=True)
    hard = sum(found.hard for found in findings)
    console.print(f"{hard} finding{'' if hard == 1 else 's'}, {len(findings) - hard} for advice", highlight=False)


def _print_finding(found: Located, console: Console) -> None:
    where = f"{found.path}:{found.line}" + (f":{found.column}" if found.column else "")
    shade = "red" if found.hard else "yellow"
    shown = Text.assemble((visible(where), "bold"), ": ", (found.finding.code, f"bold {shade}"))
    if not found.hard:
        shown.append(" advice", style=shade)
    shown.append(f": {visible(found.finding.message)}")
    if found.source is not None:
        shown.append(f" (from {visible(found.source[0])}:{found.source[1]})", style="dim")
    text, start, length = _window(found)
    if text.strip():
        shown.append(f"\n{found.line:5} | ", style="blue").append(text)
        if length:
            shown.append("\n      | ", style="blue").append(f"{' ' * start}{'^' * length}", style=shade)
    shown.append("\n      = ", style="blue").append(found.code.remedy)
    console.print(shown, soft_wrap=True)


def _window(found: Located) -> tuple[str, int, int]:
    """The part of a line that is shown, where in it the mark begins and how long it is, in a terminal's columns."""
    if found.column is None:
        return visible(found.text[:WIDEST]), 0, 0
    last = found.end[1] - 1 if found.end is not None and found.end[0] == found.line else len(found.text)
    first = found.column - 1
    begin = 0 if len(found.text) <= WIDEST or first < WIDEST // 2 else first - WIDEST // 4
    before = ("... " if begin else "") + visible(found.text[begin:first])
    marked = visible(found.text[first : min(last, begin + WIDEST)])
    after = visible(found.text[min(last, begin + WIDEST) : begin + WIDEST])
    more = " ..." if len(found.text) > begin + WIDEST else ""
    return f"{before}{marked}{after}{more}", cell_len(before), max(1, cell_len(marked))


def visible(text: str) -> str:
    """Text that cannot move a terminal's cursor or turn the direction of what is read; tabs are four blanks."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        "    " if character == "\t" else character if _harmless(character) else f"\\u{ord(character):04x}"
        for character in text
    )


def _harmless(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def as_json(findings: Sequence[Located]) -> str:
    """A list of findings, each with the file, what its code means and what to do."""
    records = [
        {
            **found.finding.model_dump(mode="json"),
            "file": found.path.as_posix(),
            "line": found.line,
            "column": found.column,
            "end": found.end,
            "title": found.code.title,
            "why": found.code.why,
            "remedy": found.code.remedy,
        }
        for found in findings
    ]
    return json.dumps(records, indent=1, sort_keys=True)
