"""The `scorer` command.

Exit codes: 0 pass, 1 fail, 2 bad input, 3 inconclusive, 128 + signal when stopped.
"""

from scorer.cli.commands import app as main

__all__ = ["main"]
