"""What a submission has no business to change: shared functions, torch's defaults and hooks, threads, handlers."""

from __future__ import annotations

import _thread
import builtins
import json
import math
import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch.distributed
import torch.nn.functional

OWNERS: dict[str, Any] = {
    "builtins": builtins,
    "json": json,
    "math": math,
    "os": os,
    "sys": sys,
    "time": time,
    "torch": torch,
    "torch.Tensor": torch.Tensor,
    "torch.autograd": torch.autograd,
    "torch.distributed": torch.distributed,
    "torch.nn": torch.nn,
    "torch.nn.Module": torch.nn.Module,
    "torch.nn.functional": torch.nn.functional,
}
"""What a scorer in the same process relies on: a submission that rebinds something here changes its own score."""

LASTING = ("stdin", "stdout", "stderr", "excepthook", "displayhook")
"""Of `sys`; the rest of it is the interpreter's own bookkeeping."""

GLOBAL_HOOKS = (
    "_global_forward_hooks",
    "_global_forward_pre_hooks",
    "_global_backward_hooks",
    "_global_backward_pre_hooks",
    "_global_module_registration_hooks",
    "_global_parameter_registration_hooks",
    "_global_buffer_registration_hooks",
)


class Surroundings:
    """How things were; `changes` says what is different now."""

    def __init__(self) -> None:
        self.functions = {(owner, name): value for owner, name, value in shared()}
        self.modules = dict(sys.modules)
        self.values = now()

    def changes(self) -> list[str]:
        """What is different, in words."""
        found = now()
        changed = [
            f"{name}: {value} became {found[name]}" for name, value in self.values.items() if found[name] != value
        ]
        for (owner, name), value in self.functions.items():
            if getattr(OWNERS[owner], name, None) is not value:
                changed.append(f"{owner}.{name} was replaced")
        for name, module in self.modules.items():
            if sys.modules.get(name) is not module:
                changed.append(f"sys.modules[{name!r}] was replaced")
        return changed


def shared() -> list[tuple[str, str, Any]]:
    """Everything callable that there is to rebind, as (owner, name, value)."""
    found = []
    for owner, thing in OWNERS.items():
        for name in dir(thing) if isinstance(thing, type) else list(vars(thing)):  # what a class inherits, too
            value = getattr(thing, name, None)
            wanted = name in LASTING if thing is sys else callable(value) and not isinstance(value, ModuleType)
            # A class gives a new bound object at each look at some of its attributes: those cannot be compared.
            if wanted and getattr(thing, name, None) is value:
                found.append((owner, name, value))
    return found


def now() -> dict[str, str]:
    """The switches as they stand, in words."""
    values = {
        "torch's default dtype": str(torch.get_default_dtype()),
        "torch's default device": str(torch.get_default_device()),
        "torch's gradient mode": str(torch.is_grad_enabled()),
        "torch's number of threads": str(torch.get_num_threads()),
        "torch's deterministic mode": str(torch.are_deterministic_algorithms_enabled()),
        "the working directory": str(Path.cwd()),
        "running threads": ", ".join(sorted(thread.name for thread in threading.enumerate())),
        # started by _thread itself, which enumerate leaves out
        "running threads without a name": str(_thread._count() - len(threading.enumerate())),
    }
    for number in signal.valid_signals():
        name = getattr(number, "name", f"signal {number}")
        values[f"the handler of {name}"] = getattr(signal.getsignal(number), "__name__", "default")
    return values


def hooks() -> list[str]:
    """Hooks and modes that stand between every module, operation or tensor and its caller, in words."""
    found = []
    module = torch.nn.modules.module
    found += [f"{len(hooks)} in {name}" for name in GLOBAL_HOOKS if (hooks := getattr(module, name, None))]
    if depth := torch._C._len_torch_function_stack():
        found.append(f"{depth} torch function modes")
    if depth := torch._C._len_torch_dispatch_stack():
        found.append(f"{depth} torch dispatch modes")
    if torch._C._autograd._top_saved_tensors_default_hooks(False) is not None:
        found.append("hooks on saved tensors")
    if torch.is_autocast_enabled("cpu"):
        found.append("autocast")
    if torch.is_inference_mode_enabled():
        found.append("inference mode")
    return found


def module_hooks(model: torch.nn.Module) -> list[str]:
    """Modules and parameters of a model with hooks of their own, or with another forward than their class's."""
    found = []
    for name, module in model.named_modules():
        kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
        if any(getattr(module, kind) for kind in kinds):
            found.append(name or "the model itself")
        if "forward" in vars(module):
            found.append(f"{name or 'the model'}.forward, replaced on the object")
    found += [name for name, tensor in model.named_parameters() if tensor._backward_hooks]
    return found
