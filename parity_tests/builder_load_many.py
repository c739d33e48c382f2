"""Loads artifacts one way and writes what each printed, as JSON: `python builder_load_many.py MODE FILE PATH...`.

Modes: main (as `python train.py` does), registered and unregistered (by path, under another name, then main()), twice
(registered, in one process, under two names), executed (`exec(compile(...))` as `__main__`), classes (nothing is run;
the sources that `inspect` gives of the classes).
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
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


def show_classes(path: str) -> None:
    """Print the source of every class of an artifact, inner ones included, each after its name."""
    waiting: list[tuple[str, object]] = [("", load(path, "shown", True))]
    while waiting:
        prefix, owner = waiting.pop()
        for name, value in list(vars(owner).items()):
            if isinstance(value, type) and value.__module__ == "shown" and value.__qualname__ == prefix + name:
                print(repr((prefix + name, inspect.getsource(value))))
                waiting.append((f"{prefix}{name}.", value))


def perform(mode: str, path: str) -> None:
    """Run one artifact one way."""
    if mode == "main":
        runpy.run_path(path, run_name="__main__")
    elif mode == "classes":
        show_classes(path)
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
    mode, file, *paths = sys.argv[1:]
    write, dumps = Path(file).write_text, json.dumps  # what runs below may do anything to these
    write(dumps({path: outcome(mode, path) for path in paths}), encoding="utf-8")
