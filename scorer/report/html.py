"""The report, a trial or the kernels as one self-contained HTML page: no script, no request, light and dark.

For phone and desktop. A page depends on what it shows alone, so the same gives the same bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from scorer.compare.trials.result import Trial
from scorer.report.chart import loss_chart
from scorer.report.sections.findings import finding_view
from scorer.report.sections.trial import bars
from scorer.report.view import OPERATORS, View

_TEMPLATES = Path(__file__).parent / "templates"
_WIDE, _NARROW = (10.0, 3.7), (4.4, 3.6)  # inches; the page shows one or the other by its width


def page(view: View) -> str:
    """Render the report page."""
    drawn = bool(view.curves.series)
    return render(
        "report.html.j2",
        verdict=view.verdict,
        reason=view.sentence,
        view=view,
        at_once=OPERATORS,
        anchors={source.place: f"source-{number}" for number, source in enumerate(view.sources, 1)},
        wide=Markup(loss_chart(view.curves, "wide", *_WIDE)) if drawn else "",
        narrow=Markup(loss_chart(view.curves, "narrow", *_NARROW)) if drawn else "",
    )


def trial_page(trial: Trial) -> str:
    """Render a trial's page."""
    shown = [finding_view(found) for found in trial.findings]
    return render(
        "trial.html.j2",
        verdict=trial.verdict,
        reason=trial.reason,
        trial=trial,
        bars=bars(trial.picture) if trial.picture else (),
        hard=[found for found in shown if found.hard],
        advice=[found for found in shown if not found.hard],
        anchors={},
    )


def render(template: str, beside: Path = _TEMPLATES, **values: Any) -> str:
    """Render a page of `templates`, or of the directory `beside` it, which may build on ours.

    Raises jinja2.UndefinedError for a value that the template needs and lacks.
    """
    environment = Environment(
        loader=FileSystemLoader([beside, _TEMPLATES], encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["bpb"] = lambda value: f"{value:.5f}"
    environment.filters["signed"] = lambda value: f"{value:+.6f}".replace("-", "−")
    environment.filters["seconds"] = _seconds
    environment.filters["percent"] = lambda value: f"{value:.3f}%"
    environment.filters["grouped"] = lambda value: f"{value:,}"
    return environment.get_template(template).render(**values)


def _seconds(value: float) -> str:
    """Seconds with as many digits as they deserve."""
    return f"{value:.0f} s" if value >= 100 else f"{value:.1f} s" if value >= 1 else f"{1000 * value:.0f} ms"
