"""What `scorer trial` shows: a table in the terminal, and a page with both learning curves over steps and seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup
from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from scorer.compare.trials.change import Arm, ChangeTrial
from scorer.compare.trials.decision import Decision, Spread
from scorer.compare.verdict import Verdict
from scorer.report.chart import loss_chart
from scorer.report.html import render
from scorer.report.sections.curves import Curves, Series
from scorer.report.terminal import STYLES

OUTCOMES: Mapping[Decision, Verdict] = {
    "adopt": "pass",
    "reject": "fail",
    "confounded": "inconclusive",
    "hold for audit": "inconclusive",
    "undecided": "inconclusive",
}
"""Each decision as a verdict: its exit code and its colour."""
COLUMNS = (
    "pair", "old bpb", "new bpb", "at equal time", "at equal steps", "steps", "s/step", "steps cost", "per step",
)  # fmt: skip
POINTS = 160  # of a drawn curve: each the mean of the updates around it
_SIZES = {"wide": (10.0, 3.3), "narrow": (4.4, 3.2)}  # inches


def print_change(report: ChangeTrial, console: Console) -> None:
    """Print the trial: its decision, a row for each pair, and the means with their intervals."""
    style = STYLES[OUTCOMES[report.decision]]
    banner = Text.assemble((report.decision.upper(), f"bold {style}"), "  ", report.reason)
    title = f"trial, {report.contest} v{report.contest_version}"
    console.print(Panel(banner, border_style=style, box=box.ROUNDED, title=title, title_align="left"))
    for name, told in facts(report).items():
        console.print(Text(f"{name}: {told}", style="dim"))
    if not report.pairs:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(COLUMNS):
        table.add_column(column, justify="right" if number else "left")
    for row in rows(report):
        table.add_row(*map(Text, row))
    console.print(table)
    for name, told in means(report).items():
        console.print(Text(f"{name}: {told}"))


def change_page(report: ChangeTrial) -> str:
    """Render the page; the same report gives the same bytes."""
    return render(
        "change.html.j2",
        verdict=OUTCOMES[report.decision],
        word=report.decision.capitalize(),
        reason=report.reason,
        report=report,
        facts=facts(report),
        means=means(report),
        columns=COLUMNS,
        rows=rows(report),
        charts=_charts(report) if report.pairs else [],
    )


def facts(report: ChangeTrial) -> dict[str, str]:
    """What was tried, and what the gate and the control said."""
    gate = report.gate
    told = f"{gate.updates} update{'' if gate.updates == 1 else 's'} of each in turns"
    if gate.time_ratio is not None:
        told += f", a step takes {gate.time_ratio:.3f} times as long"
    if gate.loss_difference is not None:
        told += f", loss {_signed(gate.loss_difference, 4)} nats"
    found = {"change": report.difference.told, "gate": f"{told}; {gate.stopped or 'goes on'}"}
    if report.control_drift is not None:
        found["control"] = f"the old program, run again at the end: {_signed(report.control_drift)} bpb"
    return found


def means(report: ChangeTrial) -> dict[str, str]:
    """The means over the pairs, with their intervals."""
    found = {
        "at equal time": _spread(report.at_equal_time),
        "at equal steps": _spread(report.at_equal_steps),
        "what the step time costs": _spread(report.steps_cost),
        "learned per step": _spread(report.per_step),
    }
    if report.pairs and not found["what the step time costs"]:
        fewest = min(len(pair.old.losses) for pair in report.pairs)
        found["what the step time costs"] = f"not told: {fewest} losses of the old program are too few for a curve"
    slopes = [pair.bpb_per_percent for pair in report.pairs if pair.bpb_per_percent is not None]
    if slopes:
        found["1 % more steps"] = f"{_signed(-sum(slopes) / len(slopes))} bpb by the old program's own curve"
    stated = [pair.steps_cost_by_profile for pair in report.pairs if pair.steps_cost_by_profile is not None]
    if stated:
        found["the cost by the contest's profile"] = f"{_signed(sum(stated) / len(stated))} bpb"
    return {name: told for name, told in found.items() if told}


def rows(report: ChangeTrial) -> list[list[str]]:
    """A row for each pair, in the order of COLUMNS."""
    return [
        [
            pair.seed or "1",
            f"{pair.old.val_bpb:.5f}",
            f"{pair.new.val_bpb:.5f}",
            _signed(pair.at_equal_time),
            "" if pair.at_equal_steps is None else _signed(pair.at_equal_steps),
            f"{pair.old.steps:,} → {pair.new.steps:,}",
            f"× {pair.time_ratio:.3f}",
            "" if pair.steps_cost is None else _signed(pair.steps_cost),
            "" if pair.per_step is None else _signed(pair.per_step),
        ]
        for pair in report.pairs
    ]


def _charts(report: ChangeTrial) -> list[dict[str, str | Markup]]:
    """Both charts, each for a wide and a narrow page."""
    found: list[dict[str, str | Markup]] = []
    for across, over in (("update", False), ("second", True)):
        series = []
        for pair in report.pairs:
            series += [_series("local", pair.old, over), _series("artifact", pair.new, over)]
        curves = Curves(tuple(series), (), ())
        drawn = {
            size: Markup(loss_chart(curves, f"{across}-{size}", width, height, across))
            for size, (width, height) in _SIZES.items()
        }
        found.append({"title": f"Loss against {across}s", **drawn})
    return found


def _series(lane: str, run: Arm, over_seconds: bool) -> Series:
    places: Sequence[float] = run.seconds if over_seconds else range(len(run.losses))
    size = max(1, -(-len(run.losses) // POINTS))
    points = [*zip(places, run.losses, strict=False)]
    parts = [points[first : first + size] for first in range(0, len(points), size)]
    x = tuple(part[-1][0] for part in parts)
    return Series(lane, x, tuple(sum(loss for _, loss in part) / len(part) for part in parts))


def _spread(found: Spread | None) -> str:
    if found is None:
        return ""
    told = f"{_signed(found.mean)} bpb"
    if found.low is None or found.high is None:
        return f"{told} (one pair: no interval)"
    return f"{told} ({_signed(found.low)} to {_signed(found.high)}, {100 * found.confidence:g} %, {found.pairs} pairs)"


def _signed(value: float, digits: int = 5) -> str:
    return f"{round(value, digits) + 0.0:+.{digits}f}".replace("-", "−")  # no minus before a zero
