"""What `scorer profile` shows: tables in the terminal, and a page with the flame of the update."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from scorer.compare.accounts import in_time
from scorer.compare.flame import CallTime, KernelTime, UpdateProfile, named
from scorer.report.html import render
from scorer.report.kernels import short_signature
from scorer.report.sections.findings import finding_view
from scorer.report.sections.flame import boxes
from scorer.report.terminal import SIGNS, STYLES, print_findings
from scorer.room.receipts import Site

IN_TERMINAL, ON_PAGE = 16, 40  # calls that are shown


@dataclass(frozen=True)
class CallView:
    """One row of the table of calls, as text."""

    phase: str
    name: str
    place: str  # of the recipe
    line: str  # of train.py
    count: str
    time: str
    share: float  # per cent of the update


@dataclass(frozen=True)
class KernelView:
    """One row of the table of kernels, as text."""

    name: str
    signature: str
    place: str
    launches: str
    time: str
    estimate: str


def flame_page(report: UpdateProfile) -> str:
    """Render the page; the same report gives the same bytes."""
    shown = [finding_view(found) for found in report.findings]
    of_site = {_told(call.site): _told(call.place) for call in report.calls if call.site}
    places = [of_site.get(f"{frame.file}:{frame.line}", "") for frame in report.frames]
    calls = _program(report)
    drawn = boxes(report.frames, report.rows, places)
    return render(
        "flame.html.j2",
        verdict=report.verdict,
        reason=report.reason,
        report=report,
        boxes=drawn,
        depth=max((one.depth for one in drawn), default=0) + 1,
        calls=[_call(call) for call in calls[:ON_PAGE]],
        rest=_rest(calls[ON_PAGE:]),
        kernels=[_kernel(kernel) for kernel in report.kernels],
        disturbed=disturbed(report),
        time=lambda seconds: in_time(1e6 * seconds),
        hard=[found for found in shown if found.hard],
        advice=[found for found in shown if not found.hard],
        anchors={},
    )


def print_flame(report: UpdateProfile, console: Console) -> None:
    """Print the report: its verdict, the phases, the longest calls, the kernels, and its findings."""
    style = STYLES[report.verdict]
    banner = Text.assemble((SIGNS[report.verdict], f"bold {style}"), "  ", report.reason)
    title = f"profile of an update, {report.contest} v{report.contest_version}"
    console.print(Panel(banner, border_style=style, box=box.ROUNDED, title=title, title_align="left"))
    if report.phases:
        console.print(_phases(report))
        console.print(_calls(report))
        if report.kernels:
            console.print(_kernels(report))
        console.print(Text(f"{disturbed(report)} {_whose(report)}", "dim"))
    if report.findings:
        print_findings(report.findings, console)


def disturbed(report: UpdateProfile) -> str:
    """How far the measurement changes what it measures."""
    if report.distortion is None:
        return ""
    plain = [one for one in report.updates if not one.profiled]
    graphs = " Operators of a compiled graph stand at the function that was compiled." if report.graphs else ""
    return (
        f"A profiled update takes {report.distortion:.3f} times as long as the plain one before it (median of "
        f"{len(plain)} pair{'' if len(plain) == 1 else 's'} in the same run).{graphs}"
    )


def _whose(report: UpdateProfile) -> str:
    which = "one rank" if len(report.ranks) == 1 else f"rank {report.rank} of {len(report.ranks)}, which waits least"
    return f"Times are those of {which}, on {report.device}; estimates are Trn2's, by documented rates."


def _program(report: UpdateProfile) -> list[CallTime]:
    """The calls without the recording, which is none of the program's."""
    return [call for call in report.calls if call.phase != "recording"]


def _phases(report: UpdateProfile) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("phase")
    table.add_column("time", justify="right")
    table.add_column("share", justify="right")
    for phase in report.phases:
        table.add_row(phase.phase, in_time(1e6 * phase.seconds), f"{100 * phase.share:.1f} %")
    table.add_row("update", in_time(1e6 * report.seconds), f"{100 * report.parts_seconds / report.seconds:.1f} %")
    return table


def _calls(report: UpdateProfile) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("phase")
    table.add_column("call", overflow="fold")
    table.add_column("recipe", overflow="fold")
    table.add_column("train.py", justify="right")
    for name in ("calls", "time", "share"):
        table.add_column(name, justify="right")
    calls = _program(report)
    for call in calls[:IN_TERMINAL]:
        view = _call(call)
        cells = (view.phase, view.name, view.place, view.line, view.count, view.time, f"{view.share:.1f} %")
        table.add_row(*map(Text, cells))
    if rest := _rest(calls[IN_TERMINAL:]):
        table.add_row(*map(Text, ("", rest.name, "", "", rest.count, rest.time, f"{rest.share:.1f} %")), style="dim")
    return table


def _kernels(report: UpdateProfile) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("kernel[cores]", overflow="fold", min_width=36)
    for name in ("launches", "measured here", "Trn2 (estimate)"):
        table.add_column(name, justify="right")
    for kernel in report.kernels:
        view = _kernel(kernel)
        label = Text.assemble(view.name, (f"\n{view.signature}", "dim"))
        table.add_row(label, view.launches, view.time, view.estimate)
    return table


def _call(call: CallTime) -> CallView:
    return CallView(
        phase=call.phase,
        name=named(call),
        place=_told(call.place),
        line="" if call.site is None else str(call.site.line),
        count=f"{call.count:,}" if call.count else "",
        time=in_time(1e6 * call.seconds),
        share=100 * call.share,
    )


def _rest(calls: Sequence[CallTime]) -> CallView | None:
    if not calls:
        return None
    seconds, share = sum(call.seconds for call in calls), sum(call.share for call in calls)
    count = sum(call.count for call in calls)
    return CallView("", f"{len(calls):,} others", "", "", f"{count:,}", in_time(1e6 * seconds), 100 * share)


def _kernel(kernel: KernelTime) -> KernelView:
    estimate = kernel.estimate_seconds
    return KernelView(
        name=kernel.kernel,
        signature=short_signature(kernel.signature),
        place=_told(kernel.site),
        launches=f"{kernel.launches:,}",
        time=in_time(1e6 * kernel.seconds),
        estimate="" if estimate is None else in_time(1e6 * estimate),
    )


def _told(site: Site | None) -> str:
    return "" if site is None else f"{site.file}:{site.line}"
