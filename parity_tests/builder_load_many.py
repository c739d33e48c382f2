"""Loads artifacts one way and prints what each wrote, as JSON: `python builder_load_many.py MODE PATH...`.

Modes: main (as `python train.py` does), registered and unregistered (by path, under another name, then main()), twice
(registered, in one process, under two names), executed (`exec(compile(...))` as `__main__`).
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import runpy
import sys
import types
from pathlib import Path


def load(path: str, name: str, registered: bool) -> types.ModuleType:
    """A module by path, entered in sys.modules or not."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    if registered:
        sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def perform(mode: str, path: str) -> None:
    """Run one artifact one way."""
    if mode == "main":
        runpy.run_path(path, run_name="__main__")
    elif mode == "executed":
        text = Path(path).read_text(encoding="utf-8")
        exec(compile(text, "train.py", "exec", dont_inherit=True), {"__name__": "__main__"})
    else:
        for name in ("any name", "another.name") if mode == "twice" else ("submission",):
            load(path, name, mode != "unregistered").main()


def outcome(mode: str, path: str) -> str:
    """What it prints, and how it ends."""
    out = io.StringIO()
    before = list(sys.path), dict(sys.modules)
    with contextlib.redirect_stdout(out):
        try:
            perform(mode, path)
        except SystemExit as end:
            print(f"exit {end.code}")
        except Exception as error:  # what the artifact raises is part of what it does
            print(f"{type(error).__name__}: {error}")
    sys.path[:] = before[0]
    for name in [name for name in sys.modules if name not in before[1]]:
        if getattr(sys.modules[name], "__file__", None) == path:
            del sys.modules[name]
    return out.getvalue()


if __name__ == "__main__":
    print(json.dumps({path: outcome(sys.argv[1], path) for path in sys.argv[2:]}))
