"""Programs run in processes forked from one that has imported torch already: nearly all of a short run is imports.

`run` runs one rank of one under the observer, without launcher and room: for what a program computes and what is seen
of it, not for what it is like to start one. As a script this is a launcher, for rooms:

    python forked.py --nproc_per_node=2 train.py

It starts ranks as torchrun does, says nothing of those that fail, and imports torch once for all of them.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import multiprocessing
import multiprocessing.forkserver
import os
import resource
import runpy
import signal
import socket
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

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
    os.environ.pop("PYTHONUNBUFFERED", None)  # what a program's output waits for is the program's, too
    try:
        multiprocessing.forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ.update(before)


def _run(program: Program) -> None:
    """In the forked process: its limits and its output, then the program."""
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS))
    importlib.import_module(_PRELOADED)
    os.chdir(program.work)
    log = os.open(program.log, os.O_WRONLY | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)
    _become(program.command, program.environment, program.path)


def _become(command: tuple[str, ...], environment: Mapping[str, str], path: tuple[str, ...]) -> NoReturn:
    """Be what `python COMMAND` starts here in this environment, and end as it ends."""
    os.environ.clear()
    os.environ.update(environment)
    if threads := environment.get("OMP_NUM_THREADS"):  # which torch asked for when it was imported
        sys.modules["torch"].set_num_threads(int(threads))
    module = command[1] if command[0] == "-m" else None
    sys.argv = [*command[1 if module else 0 :]]
    first = Path.cwd() if module else Path(command[0]).resolve().parent
    own = [place for place in sys.path if place.startswith((sys.prefix, sys.base_prefix))]
    sys.path[:] = [str(first), *path, *own]
    for name in [name for name in sys.modules if name.partition(".")[0] in ("parity_tests", "__mp_main__")]:
        del sys.modules[name]  # the program has imported nothing yet
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.dont_write_bytecode = True
    runpy.run_path(str(OBSERVER))
    sys.modules["torch"]._import_device_backends()  # as torch does at the end of its import
    code = 0
    try:
        try:
            if module:
                runpy.run_module(module, run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(command[0], run_name="__main__")
        finally:
            with contextlib.suppress(OSError):  # tried again at the end
                sys.stdout.flush()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
    except Exception as error:  # whatever the program raises ends it, as the interpreter would
        sys.last_value = error
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    atexit._run_exitfuncs()  # a forked process has no exit of its own
    try:
        sys.stdout.flush()
    except OSError:
        code = 120  # the interpreter's own code for output that could not be written
    os._exit(code)


def _launch(ranks: int, command: tuple[str, ...]) -> int:
    """Start the ranks and wait for them; the first that fails ends the others. The exit code."""
    path = tuple(place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place)
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # a rank's device is its own
    importlib.import_module("torch._dynamo")
    del os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    shared |= {"WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks)}
    running = set()
    for rank in range(ranks):
        child = os.fork()
        if child == 0:
            _become(command, {**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}, path)
        running.add(child)
    failed = False
    while running:
        child, status = os.wait()
        running.discard(child)
        if status and not failed:
            failed = True
            for other in running:
                os.kill(other, signal.SIGKILL)
    return int(failed)


if __name__ == "__main__":
    sys.exit(_launch(int(sys.argv[1].partition("=")[2]), tuple(sys.argv[2:])))
