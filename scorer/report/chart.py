"""Charts of a page: one SVG per width, the same bytes for the same curves, coloured by the page's CSS variables.

matplotlib draws with placeholder colours, which become `var(--...)` afterwards, so that one drawing serves the light
and the dark page. Text stays text (`svg.fonttype: none`) in the page's own font.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from scorer.report.sections.curves import Curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {  # CSS variable -> placeholder that matplotlib draws with
    "local": "#0000a1",
    "artifact": "#0000a2",
    "control": "#0000a3",
    "rehearsal": "#0000a4",
    "ink": "#0000b1",
    "muted": "#0000b2",
    "line": "#0000b3",
    "surface": "#0000b4",
    "pass": "#0000c1",
    "fail": "#0000c2",
}
_STYLES: dict[str, dict[str, Any]] = {
    # The artifact's thin line runs inside the local lane's broad one: where they agree, both are seen.
    "local": {"linewidth": 5.5, "alpha": 0.38, "zorder": 2},
    "artifact": {"linewidth": 1.5, "zorder": 4},
    "control": {"linewidth": 1.4, "linestyle": (0, (3, 2)), "zorder": 5},
    "rehearsal": {"linewidth": 1.5, "zorder": 4},
}


def loss_chart(curves: Curves, name: str, width: float, height: float, across: str = "update") -> str:
    """Draw the lanes' losses over each other as an `<svg>` of `width` x `height` inches (72 units each).

    Below the curves runs one cell per update: agreement of local and artifact to the last bit, or not. `name` keeps the
    identifiers of several charts in one page apart; `across` is what the curves run over.
    """

    def draw(figure: Figure) -> None:
        if curves.equal or curves.different:
            top, strip = figure.subplots(2, 1, sharex=True, height_ratios=[12, 1], gridspec_kw={"hspace": 0.09})
            _draw_curves(top, curves)
            _draw_strip(strip, curves)
            bottom = strip
        else:
            bottom = top = figure.subplots()
            _draw_curves(top, curves)
        bottom.set_xlabel(across, color=COLOURS["muted"])
        figure.subplots_adjust(left=0.62 / width, right=1 - 0.12 / width, top=1 - 0.22 / height, bottom=0.52 / height)

    return drawn(draw, name, width, height, COLOURS)


def drawn(
    draw: Callable[[Figure], None], name: str, width: float, height: float, colours: Mapping[str, str] = COLOURS
) -> str:
    """What `draw` puts into a figure, as an `<svg>` of `width` x `height` inches.

    `colours`: CSS variable of the page -> placeholder, as #rrggbb, that stands for it in the drawing.
    """
    import matplotlib  # takes most of a second, which only a page that is drawn has to spend
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # the user's matplotlibrc must not change a report
        matplotlib.rcParams.update({"svg.hashsalt": name, "svg.fonttype": "none", "font.size": 10})
        figure = Figure(figsize=(width, height))
        draw(figure)
        buffer = io.StringIO()
        figure.savefig(
            buffer,
            format="svg",
            transparent=True,
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    return _for_page(buffer.getvalue(), name, colours)


def _draw_curves(axes: Axes, curves: Curves) -> None:
    for series in curves.series:
        lone: dict[str, Any] = {"marker": "o", "markersize": 4} if len(series.updates) == 1 else {}
        axes.plot(series.updates, series.losses, color=COLOURS[series.lane], **_STYLES[series.lane], **lone)
    if curves.divergence is not None:
        axes.axvline(curves.divergence, color=COLOURS["fail"], linewidth=1, linestyle=(0, (2, 2)), zorder=1)
        axes.annotate(
            f"losses part at update {curves.divergence}",
            (curves.divergence, 1),
            xycoords=("data", "axes fraction"),
            xytext=(5, -11),
            textcoords="offset points",
            color=COLOURS["fail"],
            ha="left",
        )
    axes.set_ylabel("loss, nats per token", color=COLOURS["muted"])
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6))
    plain_axes(axes)


def plain_axes(axes: Axes) -> None:
    """Axes as every chart has them: a line below, a grid of values, nothing else around the curves."""
    axes.grid(axis="y", color=COLOURS["line"], linewidth=0.8)
    axes.set_axisbelow(True)
    axes.margins(x=0.015, y=0.08)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(COLOURS["line"])
    axes.tick_params(length=0, colors=COLOURS["muted"])


def _draw_strip(axes: Axes, curves: Curves) -> None:
    for updates, colour in ((curves.equal, "pass"), (curves.different, "fail")):
        cells = [(update - 0.44, 0.88) for update in updates]
        axes.broken_barh(cells, (0, 1), facecolors=COLOURS[colour], linewidth=0)
    axes.set_ylim(0, 1)
    axes.set_yticks([])
    axes.tick_params(length=0, colors=COLOURS["muted"])
    for spine in axes.spines.values():
        spine.set_visible(False)


def _for_page(svg: str, name: str, colours: Mapping[str, str]) -> str:
    """Cut the XML preamble, fixed size and fonts away, and let the page's variables colour the drawing."""
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    view_box = re.search(r'viewBox="([^"]+)"', svg)
    assert view_box  # matplotlib always writes one
    head = f'<svg class="chart" viewBox="{view_box[1]}" aria-hidden="true" focusable="false">'
    svg = re.sub(r"<svg[^>]*>", head, svg, count=1)
    svg = re.sub(r"\s*<defs>\s*<style[^>]*>.*?</style>\s*</defs>", "", svg, count=1, flags=re.DOTALL)
    svg = re.sub(r"font-family: [^;\"]*; ", "", svg)
    for variable, placeholder in colours.items():
        svg = svg.replace(placeholder, f"var(--{variable})")
    return re.sub(r'(id|xlink:href|href)="(#?)([^"]*)"', rf'\1="\2{name}-\3"', svg).replace("url(#", f"url(#{name}-")
