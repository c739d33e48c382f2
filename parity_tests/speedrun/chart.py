"""The plots of a race: training loss over updates and over seconds, and bits per byte with every seed."""

from __future__ import annotations

import itertools
import statistics
from typing import TYPE_CHECKING, Literal

from parity_tests.speedrun.race import Race, System
from parity_tests.speedrun.runs import Run
from scorer.report.chart import COLOURS, drawn, plain_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHADES = 8  # as many as page.html.j2 has; more systems share them
BEGINNING = 0.05  # of a run's updates: what is above the losses behind them lies outside of the plot
SMOOTHED = 0.03  # of a run's updates: a point is the mean of so many around it
POINTS = 200  # of a curve
WIDTH, HEIGHT = 6.4, 3.6  # inches
PLACEHOLDERS = {**COLOURS, **{f"shade-{number}": f"#0001{number:02d}" for number in range(SHADES)}}

Axis = Literal["updates", "seconds"]


def shade(number: int) -> str:
    """The page's variable for the system of that place in the table."""
    return f"shade-{number % SHADES}"


def loss_chart(race: Race, axis: Axis) -> str:
    """Smoothed training loss of every run, over its updates or over the charged seconds, as an `<svg>`."""

    def draw(figure: Figure) -> None:
        axes = _axes(figure)
        for number, system in enumerate(race.systems):
            for run in system.runs:
                axes.plot(*curve(run, axis), color=PLACEHOLDERS[shade(number)], linewidth=1.3, alpha=0.8)
        axes.set_ylim(top=max(_loss_behind_beginning(run) for system in race.systems for run in system.runs))
        axes.set_ylabel("training loss, nats per token", color=COLOURS["muted"])
        axes.set_xlabel("update" if axis == "updates" else "charged seconds", color=COLOURS["muted"])

    return drawn(draw, axis, WIDTH, HEIGHT, PLACEHOLDERS)


def _loss_behind_beginning(run: Run) -> float:
    _, losses = curve(run, "updates")
    return losses[round(BEGINNING * (len(losses) - 1))] if losses else 0.0


def curve(run: Run, axis: Axis) -> tuple[list[float], list[float]]:
    """Places on the axis and smoothed losses, at most `POINTS` of them and evenly spread over the updates."""
    if not run.losses:
        return [], []
    half = max(1, round(SMOOTHED * run.steps / 2))
    clock = [*itertools.accumulate(run.seconds)]
    start_up = clock[run.excluded - 1] if run.excluded else 0.0
    at = sorted({round(point * (run.steps - 1) / (POINTS - 1)) for point in range(POINTS)})
    places = [float(n) if axis == "updates" else clock[n] - start_up for n in at]
    return places, [statistics.fmean(run.losses[max(0, n - half) : n + half + 1]) for n in at]


def score_chart(race: Race) -> str:
    """Bits per byte of every seed, and each system's mean, as an `<svg>`."""
    scored = [(number, system) for number, system in enumerate(race.systems) if system.val_bpb is not None]

    def draw(figure: Figure) -> None:
        axes = _axes(figure, left=1.7)
        for line, (number, system) in enumerate(reversed(scored)):
            _draw_scores(axes, line, system, PLACEHOLDERS[shade(number)])
        axes.set_yticks(range(len(scored)), [system.name for _, system in reversed(scored)])
        axes.set_xlabel(f"bits per byte on {race.split}", color=COLOURS["muted"])
        axes.grid(axis="x", color=COLOURS["line"], linewidth=0.8)
        axes.margins(x=0.08, y=0.15)

    return drawn(draw, "scores", WIDTH, HEIGHT, PLACEHOLDERS)


def _draw_scores(axes: Axes, line: int, system: System, colour: str) -> None:
    assert system.val_bpb is not None
    scores = [run.val_bpb for run in system.runs if run.val_bpb is not None]
    axes.plot([min(scores), max(scores)], [line, line], color=colour, linewidth=1.5)
    axes.plot(scores, [line] * len(scores), color=colour, linestyle="none", marker="o", markersize=5, alpha=0.7)
    axes.plot([system.val_bpb.mean], [line], color=COLOURS["ink"], linestyle="none", marker="|", markersize=14)


def _axes(figure: Figure, left: float = 0.62) -> Axes:
    axes = figure.subplots()
    plain_axes(axes)
    figure.subplots_adjust(left=left / WIDTH, right=1 - 0.12 / WIDTH, top=1 - 0.15 / HEIGHT, bottom=0.52 / HEIGHT)
    return axes
