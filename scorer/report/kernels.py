"""What `scorer kernels` shows: a table in the terminal, and a page with each kernel's memory over its life."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup
from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from scorer.compare.accounts import KernelReport, in_time
from scorer.report.html import render
from scorer.report.sections.findings import finding_view
from scorer.report.terminal import SIGNS, STYLES, print_findings
from scorer.room.accounts import KernelAccount, Limits, OrderCheck

_WIDTH, _HEIGHT = 600, 100  # of a chart's own units; the page stretches it
_EDGES = (10, 25, 50, 100)  # per cent of the limits that a chart's upper edge may stand for
_ENGINE_NAMES = {
    "tensor": "Tensor",
    "vector": "Vector",
    "scalar": "Scalar",
    "gpsimd": "GpSimd",
    "sync": "Sync",
    "dma": "DMA",
}


@dataclass(frozen=True)
class EngineView:
    """What one engine does in a launch."""

    name: str
    instructions: int
    cycles: str  # empty for DMA
    busy: str
    share: float  # per cent of the longest


@dataclass(frozen=True)
class KernelView:
    """One row of the table, and one chart, as text."""

    account: KernelAccount
    name: str  # rms_norm_forward[2]
    place: str
    launches: str
    sbuf: str
    sbuf_share: float  # per cent of the limit
    psum: str
    psum_share: float
    moved: str
    bound: str
    each: str
    update: str
    serial: str
    intensity: str
    roofline: str
    engines: tuple[EngineView, ...]
    chart: Markup
    edge: int  # per cent of both limits that the chart's upper edge stands for
    signature: str  # short
    order: str  # what is known of its instructions' order


def kernels_page(report: KernelReport) -> str:
    """Render the page; the same report gives the same bytes."""
    shown = [finding_view(found) for found in report.findings]
    return render(
        "kernels.html.j2",
        verdict=report.verdict,
        reason=report.reason,
        report=report,
        kernels=_views(report),
        engine_names=_ENGINE_NAMES,
        time=in_time,
        size=in_bytes,
        hard=[found for found in shown if found.hard],
        advice=[found for found in shown if not found.hard],
        anchors={},
    )


def print_kernels(report: KernelReport, console: Console) -> None:
    """Print the report: its verdict, a row for each kernel and signature, and its findings."""
    style = STYLES[report.verdict]
    banner = Text.assemble((SIGNS[report.verdict], f"bold {style}"), "  ", report.reason)
    title = f"kernels, {report.contest} v{report.contest_version}"
    console.print(Panel(banner, border_style=style, box=box.ROUNDED, title=title, title_align="left"))
    views = _views(report)
    if views:
        console.print(_table(views))
        console.print(Text(f"Times are estimates by documented rates, for {_whose(report)}; `each` is at best.", "dim"))
    if report.findings:
        print_findings(report.findings, console)


def in_bytes(count: int) -> str:
    """Bytes in the largest binary unit that leaves a digit before the point."""
    value, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"


def short_signature(signature: str) -> str:
    """Shapes and types without the arguments' names; equal neighbours once: 2 x bf16[1024,64], 15.0."""
    words = [word.partition("=")[2] or word for word in signature.split()]
    for long, short in (("bfloat16", "bf16"), ("float", "fp")):
        words = [word.replace(long, short) for word in words]
    runs = [(word, len(list(same))) for word, same in itertools.groupby(words)]
    return ", ".join(word if count == 1 else f"{count} x {word}" for word, count in runs)


def _whose(report: KernelReport) -> str:
    return "the one rank" if report.ranks == 1 else f"rank {report.rank} of {report.ranks}, whose kernels take longest"


def _table(views: Sequence[KernelView]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("kernel[cores]", overflow="fold", min_width=36)
    for name in ("launches", "SBUF peak", "PSUM peak", "DMA"):
        table.add_column(name, justify="right")
    table.add_column("bound by")
    for name in ("each", "update"):
        table.add_column(name, justify="right")
    for view in views:
        cycles = ", ".join(f"{engine.name} {engine.cycles}" for engine in view.engines if engine.cycles)
        kernel = Text.assemble(view.name, (f"\n{view.signature}", "dim"), (f"\ncycles: {cycles or 'none'}", "dim"))
        sbuf = Text.assemble(view.sbuf, (f" {view.sbuf_share:.0f}%", "dim"))
        psum = Text.assemble(view.psum, (f" {view.psum_share:.0f}%", "dim"))
        table.add_row(kernel, view.launches, sbuf, psum, view.moved, view.bound, view.each, view.update)
    return table


def _views(report: KernelReport) -> list[KernelView]:
    if report.limits is None:
        return []
    return [_view(kernel, report.limits) for kernel in report.kernels]


def _view(kernel: KernelAccount, limits: Limits) -> KernelView:
    shares = 100 * kernel.sbuf_peak / limits.sbuf_bytes, 100 * kernel.psum_peak / limits.psum_bytes
    edge = next((edge for edge in _EDGES if max(shares) <= edge), _EDGES[-1])
    return KernelView(
        account=kernel,
        name=f"{kernel.kernel}[{kernel.cores}]",
        place="" if kernel.site is None else f"{kernel.site.file}:{kernel.site.line}",
        launches=f"{kernel.launches:,}",
        sbuf=in_bytes(kernel.sbuf_peak),
        sbuf_share=shares[0],
        psum=in_bytes(kernel.psum_peak),
        psum_share=shares[1],
        moved=in_bytes(sum(each.bytes for each in kernel.transfers)),
        bound=_ENGINE_NAMES[kernel.bound],
        each=in_time(kernel.microseconds),
        update=in_time(kernel.launches * kernel.microseconds),
        serial=in_time(kernel.serial_microseconds),
        intensity=f"{kernel.intensity:.2f}",
        roofline=_roofline(kernel),
        engines=tuple(_engines(kernel)),
        chart=_chart(kernel, edge / 100 * limits.sbuf_bytes, edge / 100 * limits.psum_bytes),
        edge=edge,
        signature=short_signature(kernel.signature),
        order=_order(kernel.order),
    )


def _roofline(kernel: KernelAccount) -> str:
    share = 100 * kernel.roofline_microseconds / (kernel.microseconds or 1.0)
    return f"{in_time(kernel.roofline_microseconds)}, {share:.0f}% of the estimate"


def _order(check: OrderCheck) -> str:
    if check.outcome == "not checked":
        return f"Other orders of its instructions were not tried: {check.told}."
    if check.outcome == "differs":
        return f"Right in program order only: in another order it {check.told}."
    if check.moved == 0:
        return "Its instructions have one order only."
    return f"The same bits in other orders that the compiler may choose, of up to {check.moved:,} instructions."


def _engines(kernel: KernelAccount) -> list[EngineView]:
    longest = max(kernel.busy_microseconds.values(), default=0.0) or 1.0
    return [
        EngineView(
            name=name,
            instructions=kernel.instructions[engine],
            cycles=f"{kernel.cycles[engine]:,}" if engine in kernel.cycles else "",
            busy=in_time(kernel.busy_microseconds[engine]),
            share=100 * kernel.busy_microseconds[engine] / longest,
        )
        for engine, name in _ENGINE_NAMES.items()
        if kernel.instructions.get(engine)
    ]


def _chart(kernel: KernelAccount, sbuf_edge: float, psum_edge: float) -> Markup:
    """SBUF and PSUM as steps over the instructions of a core, each up to the bytes that the upper edge stands for."""
    points = kernel.occupancy
    if not points:
        return Markup("")
    stretch = points[1][0] - points[0][0] if len(points) > 1 else 1
    ends = [point[0] for point in points[1:]] + [points[-1][0] + stretch]

    def steps(heights: Sequence[int], edge: float) -> str:
        path = [f"M0 {_HEIGHT}"]
        for until, height in zip(ends, heights, strict=True):
            path.append(f"V{_HEIGHT - min(_HEIGHT, _HEIGHT * height / edge):.1f}H{_WIDTH * until / ends[-1]:.1f}")
        return " ".join([*path, f"V{_HEIGHT}Z"])

    sbuf = steps([point[1] for point in points], sbuf_edge)
    psum = steps([point[2] for point in points], psum_edge)
    return Markup(  # of numbers alone
        f'<svg class="life" viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="sbuf" d="{sbuf}"/><path class="psum" d="{psum}"/></svg>'
    )
