"""Registering Python kernels with torch's dispatcher."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

NEURON = "PrivateUse1"
"""The dispatch key of the device; below autograd."""

_libraries: list[Any] = []  # a library's kernels go when it is collected


def overload(name: str) -> torch._ops.OpOverload:
    """The aten operator `name`, "packet" or "packet.overload"."""
    packet, _, variant = name.partition(".")
    operator: torch._ops.OpOverload = getattr(getattr(torch.ops.aten, packet), variant or "default")
    return operator


def implement(kernels: Mapping[str, Callable[..., Any]], key: str = NEURON) -> None:
    """Register `kernels`, by operator name, for the dispatch key `key`."""
    library: Any = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    _libraries.append(library)
    for name, kernel in kernels.items():
        library.impl(name, kernel, key)


def pass_through(key: str) -> None:
    """Let operators that have no kernel for `key` go on to the next key."""
    library: Any = torch.library.Library("_", "IMPL")  # type: ignore[no-untyped-call]
    _libraries.append(library)
    library.fallback(torch.library.fallthrough_kernel, key)
