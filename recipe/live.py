"""A live bar under the training log, for a person at a terminal. The trainer knows nothing of it: it follows the lines.

Never part of a submission.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Callable, Iterator

import prepare

from recipe.config import Config

STEP = re.compile(r"step (\d+) \| loss ([\d.]+|nan|inf) \|.*\| remaining_time (-?\d+)s \|")


@contextlib.contextmanager
def live(config: Config) -> Iterator[None]:
    """Show a bar below what is printed meanwhile, if standard output is a terminal; else change nothing."""
    if not sys.stdout.isatty():
        yield
        return
    from rich.console import Console  # here: a run without a terminal has no use for it
    from rich.progress import BarColumn, Progress, TextColumn

    behind = TextColumn("{task.percentage:>3.0f} % {task.fields[left]}")
    columns = (TextColumn("{task.description}"), BarColumn(), behind)
    console = Console(file=sys.stdout)  # the one of now: it will be replaced
    # Drawn by each line and not by a thread of its own, which would compete with the training.
    with Progress(*columns, console=console, auto_refresh=False, redirect_stdout=False, transient=True) as bar:
        task = bar.add_task("start-up", total=1.0, left="")

        def show(line: str) -> None:
            bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
            if found := STEP.match(line):
                step, loss, left = int(found[1]), found[2], int(found[3])
                done = share(config, step, left)
                bar.update(task, description=f"step {step} | loss {loss}", completed=done, left=f"| {left} s left")
            bar.refresh()

        with contextlib.redirect_stdout(Lines(show)):
            yield


def share(config: Config, step: int, seconds_left: int) -> float:
    """The share of the run that is behind, 0 to 1, at the end of an update."""
    by_clock: float = 1.0 - seconds_left / prepare.TRAIN_TIME_BUDGET_SECONDS
    by_steps = (step + 1) / config.num_steps if config.num_steps > 0 else 0.0
    return min(1.0, max(by_clock, by_steps))


class Lines(io.TextIOBase):
    """A text stream that hands on whole lines."""

    def __init__(self, line: Callable[[str], None]) -> None:
        self.line = line
        self.begun = ""

    def write(self, text: str) -> int:
        """Take text; hand on each line that it ends."""
        *whole, self.begun = (self.begun + text).split("\n")
        for each in whole:
            self.line(each)
        return len(text)
