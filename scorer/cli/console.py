"""The console that the commands print their results to."""

from __future__ import annotations

import sys

from rich.console import Console


def standard_output() -> Console:
    """As wide as the terminal, and wide enough for the tables where it is piped."""
    return Console(width=None if sys.stdout.isatty() else 120, emoji=False)
