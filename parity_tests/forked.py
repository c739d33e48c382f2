"""One rank of one, run in a process forked from one that has imported torch already.

Nearly all of a short run's time is imports. The same program runs under the same observer, without launcher and room:
for what a program computes and what is seen of it, not for what it is like to start one.
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
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
OBSERVER = ROOT / "scorer" / "room" / "observer" / "path" / "sitecustomize.py"
PROCESSOR_SECONDS = 60  # a program takes one to five; counted so, a loaded machine ends none
SECONDS = 600.0  # one that waits uses no processor
_PRELOADED = "parity_tests.preloaded"

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([_PRELOADED])


@dataclass(frozen=True)
class Program:
    """What to run: `python FILE` or `python -m MODULE`, in `work`, and where its output goes."""

    command: tuple[str, ...]  # the interpreter's arguments
    work: Path
    path: tuple[str, ...]  # before the interpreter's own
    environment: Mapping[str, str]  # all of it; the observer starts where it names its settings and a rank
    log: Path


def run(program: Program) -> int | None:
    """The program's exit code (negative: by that signal); None when it did not end in time and was killed."""
    _start_server()
    process = _context.Process(target=_run, args=(program,))
    process.start()
    process.join(SECONDS)
    if process.is_alive():
        process.kill()
        process.join()
        return None
    return process.exitcode


def _start_server() -> None:
    """Start the process that programs are forked from, unless it runs: it must find this package, and no stand-in."""
    before = dict(os.environ)
    # Threads that wait give their core away: other programs run beside. Which device torch gets is the program's word.
    os.environ.update(
        PYTHONPATH=str(ROOT), OMP_WAIT_POLICY="passive", GOMP_SPINCOUNT="0", TORCH_DEVICE_BACKEND_AUTOLOAD="0"
    )
    try:
        multiprocessing.forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ.update(before)


def _run(program: Program) -> None:
    """In the forked process: become what `python COMMAND` starts, and end as it ends."""
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS))
    importlib.import_module(_PRELOADED)
    os.environ.clear()
    os.environ.update(program.environment)
    os.chdir(program.work)
    log = os.open(program.log, os.O_WRONLY | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)
    if threads := program.environment.get("OMP_NUM_THREADS"):  # which torch asked for when it was imported
        sys.modules["torch"].set_num_threads(int(threads))
    module = program.command[1] if program.command[0] == "-m" else None
    sys.argv = [*program.command[1 if module else 0 :]]
    own = [place for place in sys.path if place.startswith((sys.prefix, sys.base_prefix))]
    sys.path[:] = [str(program.work), *program.path, *own]
    for name in [name for name in sys.modules if name.partition(".")[0] == __package__]:
        del sys.modules[name]  # the program has imported nothing yet
    sys.dont_write_bytecode = True
    runpy.run_path(str(OBSERVER))
    code = 0
    try:
        if module:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(program.command[0], run_name="__main__")
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except Exception as error:  # whatever the program raises ends it, as the interpreter would
        sys.last_value = error
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    sys.stdout.flush()
    atexit._run_exitfuncs()  # a forked process has no exit of its own
    os._exit(code)
