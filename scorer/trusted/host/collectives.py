"""Calls of torch.distributed: a model that is scored stands alone, and has nobody to talk to."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

import torch.distributed as dist

MAKERS = ("init_process_group", "new_group", "init_device_mesh")
"""What makes a group: refused, since it would wait for ranks that do not exist."""


class Collectives:
    """What was called, in order: (function, line of train.py or None)."""

    def __init__(self, train_py: str) -> None:
        self.train_py = train_py
        self.calls: list[tuple[str, int | None]] = []

    def install(self) -> None:
        """Note calls from now on: those by attribute of the module, and those of a name imported from it later on."""
        for name, function in list(vars(dist).items()):
            if not inspect.isfunction(function) or name.startswith("_") or not takes_group(function):
                continue
            watched = self._watched(name, function)
            for module in (dist, sys.modules["torch.distributed.distributed_c10d"]):
                if getattr(module, name, None) is function:
                    setattr(module, name, watched)

    def _watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            frame = sys._getframe(1)
            while frame is not None and frame.f_code.co_filename != self.train_py:
                frame = frame.f_back  # type: ignore[assignment]  # the outermost frame has no caller
            self.calls.append((name, frame.f_lineno if frame is not None else None))
            if name in MAKERS:
                raise RuntimeError(f"torch.distributed.{name}: a model that is scored has no process group")
            return function(*args, **kwargs)

        return watched


def takes_group(function: Callable[..., Any]) -> bool:
    """Whether a function of torch.distributed makes a group or works in one; questions about a group are no calls."""
    name = function.__name__
    if name in MAKERS:
        return True
    return "group" in inspect.signature(function).parameters and not name.startswith(("get_", "is_", "destroy_"))
