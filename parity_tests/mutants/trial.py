"""A mutant's run, watched as in its lane, in a process forked from one that has imported torch already.

A lane spends nine of its ten seconds on a launcher, a room and imports. Here the same program runs on the same virtual
clock under the same observer, as one rank of one; the rest of its receipt is the clean lane's.
"""

from __future__ import annotations

import atexit
import importlib
import multiprocessing
import multiprocessing.forkserver
import os
import resource
import runpy
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scorer.room.observer.settings import VARIABLE

PROCESSOR_SECONDS = 60  # a trial takes five; counted so, a loaded machine ends none
SECONDS = 600.0  # one that waits uses no processor
LOG = "log.txt"
_PRELOADED = "parity_tests.mutants.preloaded"

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([_PRELOADED])


@dataclass(frozen=True)
class Trial:
    """What to run. `work` is an empty directory, in which output and log are left."""

    root: Path  # that the recipe is imported from
    work: Path
    settings: Path  # the observer's
    path: tuple[str, ...]  # before the interpreter's own
    config: str
    variables: Mapping[str, str]


def begin(root: Path) -> None:
    """Start the process that trials are forked from. `root`: where this package is found, which it is not told."""
    before = dict(os.environ)
    # Threads that wait give their core away: other trials run beside.
    os.environ.update(PYTHONPATH=str(root), OMP_WAIT_POLICY="passive", GOMP_SPINCOUNT="0")
    try:
        multiprocessing.forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ.update(before)


def run(trial: Trial) -> int | None:
    """The exit code of `python -m recipe --config NAME`; None when it did not end in time."""
    process = _context.Process(target=_run, args=(trial,))
    process.start()
    process.join(SECONDS)
    if process.is_alive():
        process.kill()
        process.join()
        return None
    return process.exitcode


def _run(trial: Trial) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS))
    importlib.import_module(_PRELOADED)
    os.environ.update(trial.variables, RANK="0", LOCAL_RANK="0", WORLD_SIZE="1")
    os.environ[VARIABLE] = str(trial.settings)
    os.chdir(trial.work)
    log = os.open(LOG, os.O_WRONLY | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.path[:0] = trial.path
    sys.argv = ["recipe", "--config", trial.config]
    sys.dont_write_bytecode = True
    importlib.import_module("scorer.room.observer").start()
    code = 0
    try:
        runpy.run_module("recipe", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except Exception:  # whatever a mutant raises ends it
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    atexit._run_exitfuncs()  # a forked process has no exit of its own
    os._exit(code)
