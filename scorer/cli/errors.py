"""Exit codes, and how bad input is told: one clear message, no traceback."""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Callable
from typing import ParamSpec

import typer
from rich.console import Console

PASS, FAIL, BAD_INPUT, INCONCLUSIVE = 0, 1, 2, 3
STOPPED = 128  # a signal's number is added to it
VERDICTS = {"pass": PASS, "fail": FAIL, "inconclusive": INCONCLUSIVE}

P = ParamSpec("P")


class InputError(ValueError):
    """An argument that cannot be used; the message says what was expected and what to do."""


def _told() -> tuple[type[Exception], ...]:
    """Errors whose message is for the caller; imported when there is one, since most commands start without."""
    from scorer.artifact import ArtifactError
    from scorer.cli.output import OutputError
    from scorer.contest import ProfileError
    from scorer.ledger import LedgerError
    from scorer.room.cleanroom import RoomError
    from scorer.room.kit import KitError
    from scorer.room.launch import LaunchError
    from scorer.room.receipts import ReceiptError

    ours = InputError, OutputError, ArtifactError, ProfileError, LedgerError
    return *ours, LaunchError, RoomError, KitError, ReceiptError


def _stopped() -> tuple[type[BaseException], ...]:
    """What ends a command from outside."""
    from scorer.room.cleanroom import StoppedError

    return KeyboardInterrupt, StoppedError


def _unread() -> int:
    """End in silence: whoever read the output (`| head`) has seen enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return STOPPED + signal.SIGPIPE


def command(function: Callable[P, int]) -> Callable[P, None]:
    """Turn what a command returns into the exit code, and what is wrong with its input into one message."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        errors = Console(stderr=True, emoji=False)
        try:
            code = function(*args, **kwargs)
        except _told() as error:
            errors.print(f"scorer: {error}", markup=False, highlight=False, soft_wrap=True)
            code = BAD_INPUT
        except BrokenPipeError:
            code = _unread()
        except OSError as error:
            message = (
                f"{error.filename or 'scorer'}: {error.strerror or error}; check the path, its rights and the disk"
            )
            errors.print(f"scorer: {message}", markup=False, highlight=False, soft_wrap=True)
            code = BAD_INPUT
        except _stopped():
            errors.print("scorer: stopped; every lane was ended and nothing was written", highlight=False)
            code = 130
        except SystemExit as stop:
            if isinstance(stop.code, int) and stop.code > STOPPED:
                errors.print("scorer: stopped; every lane was ended and nothing was written", highlight=False)
                code = stop.code
            else:
                code = _unread()  # rich ends the program so, where what it prints is no longer read
        raise typer.Exit(code)

    return run
