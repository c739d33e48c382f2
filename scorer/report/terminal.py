"""The report in a terminal: the first difference, three columns, offsets and findings; plain lines where piped."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console, Group
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from scorer.findings import Finding, Severity
from scorer.report.sections.findings import FindingView, finding_view
from scorer.report.sections.offsets import Waterfall, told
from scorer.report.sections.purity import PurityView, purity
from scorer.report.upload_table import changed
from scorer.report.view import View
from scorer.room.receipts import Receipt

STYLES = {"pass": "green", "fail": "red", "inconclusive": "yellow"}
_EVIDENCE_LINES = 4
_OUTCOMES = {
    "passed": ("✓", "green"),
    "failed": ("✗", "bold red"),
    "void": ("? void", "yellow"),
    "not run": ("- not run", "yellow"),
}
SIGNS = {"pass": "✓ PASS", "fail": "✗ FAIL", "inconclusive": "? INCONCLUSIVE"}


def print_view(view: View, console: Console) -> None:
    """Print the whole report."""
    style = STYLES[view.verdict]
    banner = Text.assemble((SIGNS[view.verdict], f"bold {style}"), "  ", view.sentence)
    if view.first:
        banner.append(f"\n\n{view.first_label}: ", style="bold")
        banner.append_text(_line(view.first))
        banner.append(f"\n{view.first.remedy}", style="dim")
    console.print(Panel(banner, border_style=style, box=box.ROUNDED, title=view.contest_name, title_align="left"))
    for trouble in view.troubles:
        console.print(Text(f"{trouble.lane} lane {trouble.outcome}: {trouble.problem}", style="red"))
        console.print(Padding(Text("\n".join(trouble.log), style="dim"), (0, 0, 0, 4)))
    console.print(_lanes(view))
    if view.waterfall:
        console.print(_offsets(view.waterfall))
    if view.since:
        since = view.since.since
        told = f"Since the last upload ({since.date.isoformat()}, {since.artifact_sha256[:12]}): "
        console.print(Text.assemble((told, "bold"), changed(view.since)), soft_wrap=True)
        if view.since.knobs:
            console.print(Text(view.since.sentence, "dim"), soft_wrap=True)
    if view.purity:
        console.print(_purity(view.purity))
    for finding in (*view.hard, *view.advice):
        console.print(_finding(finding))


def print_findings(findings: Sequence[Finding], console: Console) -> None:
    """Print findings alone, as `file:line: CODE message`, with evidence and remedy."""
    for found in findings:
        console.print(_finding(finding_view(found)))
    hard = sum(found.severity is Severity.HARD for found in findings)
    console.print(f"{hard} finding{'' if hard == 1 else 's'}, {len(findings) - hard} for advice")


def print_evaluations(receipt: Receipt, console: Console) -> None:
    """Print every measurement of a receipt with the settings that make it a number."""
    if not receipt.evaluations:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("measurement")
    table.add_column("val_bpb", justify="right")
    for name in ("split", "tokens", "bytes", "context", "world", "seconds"):
        table.add_column(name, justify="left" if name == "split" else "right")
    for row in receipt.evaluations:
        bpb = f"{float.fromhex(row.val_bpb):.6f}"
        tokens, size = f"{row.num_tokens:,}", f"{row.num_bytes:,}"
        settings = (row.split, tokens, size, str(row.seq_len), str(row.world_size), f"{row.seconds:.1f}")
        table.add_row(row.name, bpb, *settings)
    console.print(table)


def print_purity(receipt: Receipt, console: Console) -> None:
    """Print what the purity tests tried, and how it came out."""
    if receipt.purity:
        console.print(_purity(purity(receipt)))


def _purity(tests: Sequence[PurityView]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("purity")
    table.add_column("trials", overflow="fold")
    table.add_column("largest change", justify="right")
    table.add_column("allowed", justify="right")
    table.add_column("computed in", overflow="fold")
    table.add_column("", justify="left")
    for test in tests:
        mark = Text(_OUTCOMES[test.outcome][0], _OUTCOMES[test.outcome][1])
        name = test.test if test.outcome == "passed" else f"{test.test} ({test.code})"
        table.add_row(name, test.counts, test.largest, test.allowed, test.dtypes, mark)
        for trial in test.open_trials:
            table.add_row("", Text(f"{trial.trial}: {trial.outcome}: {trial.reason}", "dim"), "", "", "", "")
    return table


def _line(finding: FindingView) -> Text:
    line = Text()
    if finding.place:
        line.append(f"{finding.place}: ", style="bold")
    line.append(finding.code, style="bold red" if finding.hard else "bold yellow")
    line.append(f" {finding.message}")
    if finding.where:
        line.append(f" ({finding.where})", style="dim")
    return line


def _lanes(view: View) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=False)
    table.add_column("")
    styles = {"local": "blue", "artifact": "dark_orange3", "trusted": "magenta"}
    for name, lane in view.columns:
        table.add_column(lane, header_style=f"bold {styles[name]}", overflow="fold")
    table.add_column("")
    for row in view.rows:
        mark = {True: Text("✓", "green"), False: Text("≠", "bold red"), None: Text("")}[row.agree]
        table.add_row(
            row.label,
            *(getattr(row, name) for name, _ in view.columns),
            mark,
            style="red" if row.agree is False else "",
        )
    return table


def _offsets(waterfall: Waterfall) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("the way to the official number")
    table.add_column("bpb", justify="right")
    table.add_column("becomes", justify="right")
    table.add_row(waterfall.start, "", f"{waterfall.bars[0].offset.from_bpb:.6f}")
    for part in (bar.offset for bar in waterfall.bars):
        table.add_row(part.name, told(part), f"{part.to_bpb:.6f}")
    return table


def _finding(finding: FindingView) -> Group:
    detail = Text(f"{finding.title}. ", style="bold")
    detail.append(finding.remedy, style="not bold")
    evidence = [Text(f"{name}: {_short(value)}", style="dim") for name, value in finding.evidence]
    return Group(_line(finding), Padding(Group(*evidence, detail), (0, 0, 1, 4)))


def _short(value: str) -> str:
    """The first lines of a long list; the page shows all of it."""
    lines = value.splitlines()
    kept = lines[:_EVIDENCE_LINES]
    more = [f"and {len(lines) - len(kept)} more"] if len(lines) > len(kept) else []
    return "\n  ".join(["", *kept, *more]) if len(lines) > 1 else value
