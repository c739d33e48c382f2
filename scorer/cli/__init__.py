"""The `scorer` command.

Exit codes: 0 pass, 1 fail, 2 bad input, 3 inconclusive, 128 + signal when stopped.
"""

import os
import sys

# Commands that need nothing of what runs and scores a model, and start without it.
_QUICK = {"check", "rules"}
# What torch reads from the environment. Lanes never see the caller's; the judge's own process must not either.
_TORCH_SETTINGS = ("TORCH", "PYTORCH", "ATEN_")


def main() -> None:
    """The console script."""
    for name in [name for name in os.environ if name.startswith(_TORCH_SETTINGS)]:
        del os.environ[name]
    if _QUICK.intersection(sys.argv[1:2]):
        from scorer.cli.reviewing import app
    else:
        from scorer.cli.change import app
    app(prog_name="scorer")


__all__ = ["main"]
