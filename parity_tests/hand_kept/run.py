"""Runs training programs in forked children, so that torch is imported once.

`python -m parity_tests.hand_kept.run JOBS`: JOBS is a JSON list; the results go to standard output as one. A job:

    directory    where it runs; the program is its `file` (default train.py), run as `module` if one is named
    argv, environ    flags, and all variables that it sees
    allowed      variables that the program may read (patterns), or null: all. A read of another one raises
    path         directories that its imports are looked up in, behind its own
    load         true: import the file by its path under another name, and ask it for the logits of out/final.pt

Its result: `status` (of the exit), `stdout`, `error` (the last lines of standard error), `reads` (variables that the
program asked for), `checkpoint` (a hash of all tensors and values of out/final.pt).
"""

from __future__ import annotations

import fnmatch
import hashlib
import importlib.util
import json
import os
import runpy
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import torch


class ReadError(Exception):
    """The program asked for a variable that it may not know."""


class GuardedEnvironment(os._Environ):  # type: ignore[type-arg]
    """The environment; reads by the program itself are recorded, and refused where it may not."""

    def __init__(self, real: Any, program: str, allowed: list[str] | None) -> None:
        super().__init__(real._data, real.encodekey, real.decodekey, real.encodevalue, real.decodevalue)
        self.program = program
        self.allowed = allowed
        self.reads: list[str] = []

    def asked(self, name: str) -> None:
        """Note who asks for a variable ("*": for all of them)."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename.endswith(("os.py", "_collections_abc.py", "os>", "abc>")):
            frame = frame.f_back
        if frame is None or frame.f_code.co_filename != self.program:
            return
        self.reads.append(name)
        if self.allowed is not None and not any(fnmatch.fnmatchcase(name, pattern) for pattern in self.allowed):
            raise ReadError(name)

    def __getitem__(self, name: str) -> str:
        self.asked(name)
        value: str = super().__getitem__(name)
        return value

    def __iter__(self) -> Iterator[str]:
        self.asked("*")
        return super().__iter__()


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Run one job in a child; what it left."""
    directory = Path(job["directory"])
    report = directory / "report.json"
    child = os.fork()
    if child == 0:
        os._exit(_child(job, directory, report))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    facts = json.loads(report.read_text("utf-8")) if report.is_file() else {"reads": []}
    report.unlink(missing_ok=True)
    error = (directory / "stderr.txt").read_text("utf-8")[-2000:]
    return {"status": status, "stdout": (directory / "stdout.txt").read_text("utf-8"), "error": error, **facts}


def _child(job: dict[str, Any], directory: Path, report: Path) -> int:
    os.chdir(directory)
    for number, name in ((1, "stdout.txt"), (2, "stderr.txt")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), number)
    program = str(directory / job.get("file", "train.py"))
    os.environ.clear()
    os.environ.update(job["environ"])
    guarded = GuardedEnvironment(os.environ, program, job.get("allowed"))
    os.environ = guarded  # noqa: B003  (it writes through to the real one)
    sys.argv = [program, *job["argv"]]
    sys.path[0] = str(directory)
    sys.path[1:1] = job.get("path", [])
    facts: dict[str, Any] = {}
    status = 0
    try:
        if job.get("load"):
            facts["logits"] = _logits(program, directory / "out" / "final.pt", job.get("module"))
        elif job.get("module"):
            runpy.run_module(job["module"], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(program, run_name="__main__")
    except SystemExit as stop:
        if stop.code is not None and not isinstance(stop.code, int):
            print(stop.code, file=sys.stderr)
        status = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    except BaseException:
        traceback.print_exc()
        status = 1
    facts["reads"] = guarded.reads
    if (directory / "out" / "final.pt").is_file():
        facts["checkpoint"] = digest(directory / "out" / "final.pt")
    report.write_text(json.dumps(facts), encoding="utf-8")
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def _logits(program: str, checkpoint: Path, name: str | None) -> str:
    """What the scorer would see of a model: the logits of two rows of tokens, hashed."""
    module = importlib.import_module(name) if name else _by_path(program)
    model = module.load_for_eval(str(checkpoint), "cpu")
    tokens = torch.arange(24).reshape(2, 12) % 7
    with torch.no_grad():
        return hashlib.sha256(model(tokens).float().numpy().tobytes()).hexdigest()


def _by_path(program: str) -> ModuleType:
    """A module of the program's file, under another name."""
    spec = importlib.util.spec_from_file_location("submission_under_test", program)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def digest(path: Path) -> str:
    """A hash of everything in a checkpoint: tensors by their bytes, everything else by repr, in order."""
    total = hashlib.sha256()

    def add(value: Any) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                total.update(repr(key).encode())
                add(item)
        elif isinstance(value, (list, tuple)):
            total.update(f"{type(value).__name__} {len(value)}".encode())
            for item in value:
                add(item)
        elif isinstance(value, torch.Tensor):
            total.update(f"{value.dtype} {tuple(value.shape)}".encode())
            total.update(value.contiguous().view(torch.uint8).numpy().tobytes() if value.ndim else repr(value).encode())
        else:
            total.update(repr(value).encode())

    add(torch.load(path, weights_only=True))
    return total.hexdigest()


def _warm_up() -> None:
    """Do what imports more of torch, so that the children need not."""
    weight = torch.nn.Parameter(torch.zeros(2))
    weight.grad = torch.zeros(2)  # no backward: its engine could not be told of another device any more
    torch.optim.AdamW([weight], foreach=True).step()


if __name__ == "__main__":
    torch.set_num_threads(1)
    _warm_up()
    print(json.dumps([run(job) for job in json.loads(Path(sys.argv[1]).read_text("utf-8"))]))
