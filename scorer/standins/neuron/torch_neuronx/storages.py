"""Storages of the device, which ``torch.load``, ``copy.deepcopy`` and others ask for by device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .memory import DEVICE_TYPE, storage_over

_torch_new: Callable[..., torch.UntypedStorage] = torch.UntypedStorage.__new__


def register() -> None:
    """Let ``torch.UntypedStorage(bytes, device="neuron")`` work.

    Torch would ask an allocator of the device, which a Python backend cannot register.
    """
    torch.UntypedStorage.__new__ = staticmethod(_new)  # type: ignore[assignment]


def _new(cls: type[torch.UntypedStorage], *args: Any, device: Any = None, **kwargs: Any) -> torch.UntypedStorage:
    if device is None or torch.device(device).type != DEVICE_TYPE:
        return _torch_new(cls, *args, device=device, **kwargs)
    size = args[0] if args else kwargs["size"]
    return storage_over(torch.empty(size, dtype=torch.uint8, device="cpu"))
