"""A mutant run at once, unwatched and outside of any room, to learn whether it runs at all.

The process is forked from one that has imported torch and the stand-ins already, so that most mutants that end with an
error cost a second, not a lane. What runs here is run again in a lane; a trial decides nothing else.
"""

from __future__ import annotations

import importlib
import multiprocessing
import multiprocessing.forkserver
import os
import runpy
import sys
from collections.abc import Mapping
from pathlib import Path

from scorer.room.stand_in import stand_ins

SECONDS = 40.0

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["parity_tests.mutants.preloaded"])


def ends_well(root: Path, kit: Path, work: Path, config: str, variables: Mapping[str, str]) -> bool:
    """Whether `python -m recipe --config NAME` in `root`, as one rank of one, ends without an error in time."""
    process = _context.Process(target=_run, args=(root, kit, work, config, dict(variables)))
    process.start()
    process.join(SECONDS)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode == 0


def begin(root: Path) -> None:
    """Start the process that trials are forked from. `root`: where this package is found, which it is not told."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(root)
    multiprocessing.forkserver.ensure_running()
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


def _run(root: Path, kit: Path, work: Path, config: str, variables: dict[str, str]) -> None:
    importlib.import_module("parity_tests.mutants.preloaded")
    ranks = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "OMP_NUM_THREADS": "1"}
    os.environ.update(variables, **ranks)
    os.chdir(work)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    sys.path[:0] = [str(root), str(kit), *map(str, stand_ins())]
    sys.argv = ["recipe", "--config", config]
    sys.dont_write_bytecode = True
    runpy.run_module("recipe", run_name="__main__", alter_sys=True)
