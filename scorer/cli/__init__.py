"""The `scorer` command.

Exit codes: 0 pass, 1 fail, 2 bad input, 3 inconclusive, 128 + signal when stopped.
"""

import os

from scorer.cli.commands import app

# What torch reads from the environment. Lanes never see the caller's; the judge's own process must not either.
_TORCH_SETTINGS = ("TORCH", "PYTORCH", "ATEN_")


def main() -> None:
    """The console script."""
    for name in [name for name in os.environ if name.startswith(_TORCH_SETTINGS)]:
        del os.environ[name]
    app(prog_name="scorer")


__all__ = ["main"]
