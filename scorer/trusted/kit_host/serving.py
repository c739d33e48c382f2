"""Takes the judge's jobs and answers each with `done` or `failed`; in between, the proxy's `ask`."""

from __future__ import annotations

import importlib
import inspect
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from . import reading
from .proxy import Channel, Json, Proxy


def serve(module: str, functions: dict[str, str], channel: int, memory: int, rank: int) -> None:
    """Import the kit and answer jobs until the judge hangs up. Whatever the kit raises is an answer."""
    judge = Channel(channel, memory, rank)
    kit: ModuleType | None = None
    while (job := judge.hear()) is not None:
        operation = job.pop("op")
        try:
            if operation == "map":
                judge.map(**job)
                done: Json = {}
            else:
                kit = kit or importlib.import_module(module)
                done = perform(kit, functions, judge, operation, job)
        except Exception as error:
            judge.say(failed=describe(error, kit))
        else:
            judge.say(done=done)


def perform(kit: ModuleType, names: dict[str, str], judge: Channel, operation: str, job: Json) -> Json:
    """Do one job."""
    if operation == "read":
        return reading.read(kit, names, **job)
    if operation == "overlap":
        return reading.overlap(getattr(kit, names["documents"]), **job)
    tokenizer = getattr(kit, names["tokenizer"])()
    given = [Proxy(judge), tokenizer, job["batch_size"], job["seq_len"], torch.device("cpu")]
    began = time.monotonic()
    with torch.no_grad():
        result = call(getattr(kit, names[operation]), given, job["options"], job["needed"])
    if not isinstance(result, dict):
        raise TypeError(f"{names[operation]} returns a {type(result).__name__}, expected a dict")
    return {"seconds": time.monotonic() - began, "result": {str(key): plain(value) for key, value in result.items()}}


def call(function: Callable[..., Any], given: list[Any], options: Json, needed: list[str]) -> Any:
    """Call with `given` by position and with those `options` that it takes; TypeError where it lacks a needed one."""
    parameters = list(inspect.signature(function).parameters.values())
    takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters)
    by_name = {one.name: one for one in parameters}
    more: list[Any] = []
    named: Json = {}
    for name, value in options.items():
        if name in by_name and by_name[name].kind is inspect.Parameter.POSITIONAL_ONLY:
            if parameters.index(by_name[name]) != len(given) + len(more):
                raise TypeError(f"{function.__name__} takes {name} by position only, after others that nobody gives")
            more.append(value)
        elif name in by_name or takes_any:
            named[name] = value
        elif name in needed:
            raise TypeError(f"{function.__name__} takes no argument {name}, so it cannot be asked for {name}={value!r}")
    return function(*given, *more, **named)


def plain(value: Any) -> Any:
    """A number as JSON has it, from a tensor or an array too; the printed form of anything else."""
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "size", None) is not None:
        value = item() if getattr(value, "ndim", 0) == 0 else value
    return value if isinstance(value, bool | int | float | str | None) else repr(value)[:200]


def describe(error: Exception, kit: ModuleType | None) -> str:
    """An exception, with the innermost line of the kit that it passed."""
    place = Path(getattr(kit, "__file__", None) or "none").parent
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).parent == place]
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"[:2000]
