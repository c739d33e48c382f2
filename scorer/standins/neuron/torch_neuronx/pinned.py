"""Pinned host memory: CPU tensors that say so, as the device's copies want them.

On a CPU pinning changes nothing but what ``is_pinned`` says. Torch looks for an allocator of pinned memory among the
hooks of the accelerator, where a Python backend cannot put one: CPU memory is asked for without pinning and marked.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch

_FACTORIES = ("empty.memory_format", "empty_strided")  # every factory function of torch ends in one of the two
_libraries: list[Any] = []


def register() -> None:
    """Let ``pin_memory=True``, ``Tensor.pin_memory()`` and ``Tensor.is_pinned()`` work on CPU tensors."""
    library: Any = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    _libraries.append(library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch warns that its own kernels are replaced: they are called
        for name in _FACTORIES:
            library.impl(name, _factory(torch.library.get_kernel(f"aten::{name}", "CPU")), "CPU", with_keyset=True)
        library.impl("_pin_memory", _pin_memory, "CPU")
        library.impl("is_pinned", _is_pinned, "CPU")


def _factory(torch_kernel: Any) -> Callable[..., torch.Tensor]:
    def make(keys: Any, *args: Any, pin_memory: bool | None = None, **kwargs: Any) -> torch.Tensor:
        made: torch.Tensor = torch_kernel.call_boxed(keys, *args, pin_memory=None, **kwargs)
        if pin_memory:
            made.untyped_storage().pinned = True  # type: ignore[attr-defined]
        return made

    return make


def _pin_memory(self: torch.Tensor, device: Any = None) -> torch.Tensor:
    return torch.empty_like(self, pin_memory=True).copy_(self)


def _is_pinned(self: torch.Tensor, device: Any = None) -> bool:
    return getattr(self.untyped_storage(), "pinned", False)
