"""`summary.md`: the verdict on one page of GitHub's Markdown, as a workflow's step summary or a comment shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from scorer.report.sections.findings import FindingView
from scorer.report.sections.offsets import told
from scorer.report.view import View

_FINDINGS = 50  # GitHub takes a megabyte; nobody reads more than these
_LONGEST = 400  # characters of a cell
_SIGNS = {"pass": "✅ Pass", "fail": "❌ Fail", "inconclusive": "❔ Inconclusive"}
_AGREE = {True: "✓", False: "≠", None: ""}


def markdown(view: View) -> str:
    """Verdict, findings, three columns and offsets; what a program wrote cannot become markup."""
    return "\n".join([*_lines(view), ""])


def _lines(view: View) -> Iterator[str]:
    yield f"## {_SIGNS[view.verdict]}: {view.contest}"
    yield from ("", _text(view.sentence), "")
    yield f"Artifact {_code(view.subject[:12])}, {view.size_bytes:,} of {view.size_limit_bytes:,} bytes, by"
    yield from ("", *_fenced(view.launch), "")
    if view.findings:
        yield from ("### Findings", "", *_findings(view.findings))
    yield from ("### Lanes", "")
    marked = ["", *(lane for _, lane in view.columns), ""]
    yield from _table(
        marked,
        ([row.label, *(getattr(row, name) for name, _ in view.columns), _AGREE[row.agree]] for row in view.rows),
    )
    if view.waterfall:
        yield from ("### The way to the official number", "")
        parts = [bar.offset for bar in view.waterfall.bars]
        first = [view.waterfall.start, "", f"{parts[0].from_bpb:.6f}"]
        rows = ([part.name, told(part), f"{part.to_bpb:.6f}"] for part in parts)
        yield from _table(["measurement", "bpb", "becomes"], [first, *rows])
    if view.since:
        since = view.since.since
        yield from (f"### Since the last upload ({since.date.isoformat()}, {_code(since.artifact_sha256[:12])})", "")
        if view.since.knobs:
            yield from _table(["knob", "then", "now"], ([k.name, k.before, k.after] for k in view.since.knobs))
        yield from (_text(view.since.sentence), "")


def _findings(findings: Sequence[FindingView]) -> Iterator[str]:
    rows = ([finding.code + ("" if finding.hard else " (advice)"), _where(finding), finding.message, finding.remedy]
            for finding in findings[:_FINDINGS])  # fmt: skip
    yield from _table(["code", "at", "what", "what to do"], rows)
    if len(findings) > _FINDINGS:
        yield from (f"{len(findings) - _FINDINGS} more in verdict.json and report.html.", "")


def _where(finding: FindingView) -> str:
    return ", ".join(part for part in (finding.place, finding.where) if part)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(map(_text, row))} |"
    yield ""


def _text(text: str) -> str:
    """Text on one line in which nothing is markup."""
    cut = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    cut = cut.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\\", "\\\\")
    for sign in "#`*_[]|~@$":  # `@name` would call somebody, `#1` link an issue; `#` comes first: entities have it too
        cut = cut.replace(sign, f"&#{ord(sign)};")
    return "<br>".join(cut.splitlines())


def _code(text: str) -> str:
    return f"`{text}`"


def _fenced(text: str) -> tuple[str, str, str]:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}sh", text, fence
