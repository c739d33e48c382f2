"""Storages of the device, which ``torch.load``, ``copy.deepcopy`` and others ask for by device."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import torch

from .memory import DEVICE_TYPE, storage_over

_torch_new: Callable[..., torch.UntypedStorage] = torch.UntypedStorage.__new__
_torch_resize: Callable[[torch.UntypedStorage, int], Any] = torch.UntypedStorage.resize_


def register() -> None:
    """Let ``torch.UntypedStorage(bytes, device="neuron")`` and ``storage.resize_(0)`` work.

    Torch would ask an allocator of the device, which a Python backend cannot register.
    """
    torch.UntypedStorage.__new__ = staticmethod(_new)  # type: ignore[assignment]
    torch.UntypedStorage.resize_ = _resize  # type: ignore[assignment, method-assign]


def _new(cls: type[torch.UntypedStorage], *args: Any, device: Any = None, **kwargs: Any) -> torch.UntypedStorage:
    if device is None or torch.device(device).type != DEVICE_TYPE:
        return _torch_new(cls, *args, device=device, **kwargs)
    size = args[0] if args else kwargs["size"]
    return storage_over(torch.empty(size, dtype=torch.uint8, device="cpu"))


def _resize(storage: torch.UntypedStorage, size: int) -> Any:
    """Give up a storage's memory, as sharding does between two uses of a parameter, or have it as it is.

    The storage keeps its bytes and its size, filled with ones, which are NaN in every floating dtype: who reads what
    was given up finds that.
    """
    if storage.device.type != DEVICE_TYPE:
        return _torch_resize(storage, size)
    if size not in (0, storage.nbytes()):
        raise NotImplementedError(f"a storage of {storage.nbytes()} bytes on {DEVICE_TYPE} cannot have {size}")
    if size == 0 and storage.nbytes() > 0:
        ctypes.memset(storage.data_ptr(), 0xFF, storage.nbytes())
    return storage
