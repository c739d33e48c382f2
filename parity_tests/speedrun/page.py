"""The race as one self-contained page, in the look of the scorer's reports."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from parity_tests.speedrun.chart import loss_chart, score_chart, shade
from parity_tests.speedrun.race import Race, told
from parity_tests.speedrun.shown import columns, row
from scorer.report.html import render


def page(race: Race) -> str:
    """Render the page; the same race gives the same bytes."""
    drawable = any(run.losses for system in race.systems for run in system.runs)
    charts = [Markup(loss_chart(race, axis)) for axis in ("updates", "seconds")] if drawable else []
    return render(
        "page.html.j2",
        beside=Path(__file__).parent,
        verdict="pass" if race.passed else "fail",
        reason=told(race),
        race=race,
        columns=columns(race),
        rows=[(shade(number), system, row(system)) for number, system in enumerate(race.systems)],
        scores=Markup(score_chart(race)) if race.best else "",
        charts=charts,
    )
