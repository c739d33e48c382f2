"""The console that the commands print their results to."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console


def standard_output() -> Console:
    """As wide as the terminal, and wide enough for the tables where it is piped."""
    return Console(width=None if sys.stdout.isatty() else 120, emoji=False)


def tell(show: Callable[[Console], None], page: Path | None) -> None:
    """Print a result by `show`, and where its page is; None: it is not kept."""
    console = standard_output()
    show(console)
    if page is not None:
        console.print(f"Report: {page}", markup=False, highlight=False, soft_wrap=True)
