"""Training where there should be none: backward passes and optimizer steps while a model is loaded or asked."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook


class Training:
    """What was called, in order: (function, line of train.py or None)."""

    def __init__(self, train_py: str) -> None:
        self.train_py = train_py
        self.calls: list[tuple[str, int | None]] = []

    def install(self) -> None:
        """Note calls from now on; `Tensor.backward` comes through `torch.autograd.backward`, too."""
        for name in ("backward", "grad"):
            setattr(torch.autograd, name, self._watched(f"torch.autograd.{name}", getattr(torch.autograd, name)))
        register_optimizer_step_post_hook(
            lambda optimizer, _args, _kwargs: self.note(f"{type(optimizer).__name__}.step")
        )

    def note(self, what: str) -> None:
        """One call, with the line of train.py that led to it."""
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != self.train_py:
            frame = frame.f_back  # type: ignore[assignment]  # the outermost frame has no caller
        self.calls.append((what, frame.f_lineno if frame is not None else None))

    def _watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            self.note(name)
            return function(*args, **kwargs)

        return watched
