"""The report as one self-contained HTML page: no script, no request, light and dark, phone and desktop.

The page depends on the view alone, so the same view gives the same bytes.
"""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from scorer.report.chart import loss_chart
from scorer.report.view import OPERATORS, View

_TEMPLATES = Path(__file__).parent / "templates"
_WIDE, _NARROW = (10.0, 3.7), (4.4, 3.6)  # inches; the page shows one or the other by its width


def page(view: View) -> str:
    """Render the report page."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES, encoding="utf-8"),
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
    drawn = bool(view.curves.series)
    return environment.get_template("report.html.j2").render(
        view=view,
        at_once=OPERATORS,
        anchors={source.place: f"source-{number}" for number, source in enumerate(view.sources, 1)},
        wide=Markup(loss_chart(view.curves, "wide", *_WIDE)) if drawn else "",
        narrow=Markup(loss_chart(view.curves, "narrow", *_NARROW)) if drawn else "",
    )


def _seconds(value: float) -> str:
    """Seconds with as many digits as they deserve."""
    return f"{value:.0f} s" if value >= 100 else f"{value:.1f} s" if value >= 1 else f"{1000 * value:.0f} ms"
