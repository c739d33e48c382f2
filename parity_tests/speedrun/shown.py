"""The race in the terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from parity_tests.speedrun.race import Race, Spread, System, told

COLUMNS = ("system", "val_bpb", "to baseline", "steps", "s/step", "tokens/s", "loss at step {}", "memory", "parameters")


def columns(race: Race) -> list[str]:
    """The heads of the table."""
    return [column.format(race.equal_steps) for column in COLUMNS]


def row(system: System) -> list[str]:
    """A system's numbers as they are told; of one without numbers its name and the reason."""
    if system.problem is not None:
        return [system.name, f"no result: {system.problem}"]
    against = "" if system.against is None else f"{100 * system.against:+.1f} %"
    memory = "" if system.peak_bytes is None else f"{system.peak_bytes / 2**20:,.0f} MiB"
    return [
        system.name,
        with_spread(system.val_bpb, ".4f"),
        against,
        with_spread(system.steps, ",.0f"),
        with_spread(system.step_seconds, ".3f"),
        with_spread(system.tokens_per_second, ",.0f"),
        with_spread(system.loss, ".3f"),
        memory,
        f"{system.parameters / 1e6:.2f} M",
    ]


def with_spread(value: Spread | None, form: str) -> str:
    """Mean and deviation over the seeds; the mean alone of a single run."""
    if value is None:
        return ""
    deviation = "" if value.deviation is None else f" ± {value.deviation:{form}}"
    return f"{value.mean:{form}}{deviation}"


def show(race: Race, console: Console) -> None:
    """Print what came out, the table, and what the race was made with."""
    style = "green" if race.passed else "red"
    title = f"{race.seconds:g} s each, {race.contest} v{race.contest_version}"
    console.print(Panel(Text(told(race)), border_style=style, box=box.ROUNDED, title=title, title_align="left"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns(race)):
        table.add_column(column, justify="right" if number else "left")
    for system in race.systems:
        if system.problem is None:
            table.add_row(*row(system))
    console.print(table)
    for system in race.systems:
        if system.problem is not None:
            console.print(Text(": ".join(row(system)), style="red"), soft_wrap=True)
    for name, fact in race.facts.items():
        console.print(Text(f"{name}: {fact}", style="dim"), soft_wrap=True)
