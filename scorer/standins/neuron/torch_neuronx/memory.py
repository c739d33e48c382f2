"""Device memory: a neuron tensor is a plain ``torch.Tensor`` whose bytes lie in a CPU tensor, its host.

A neuron tensor has an ordinary storage of the device (address and size of the host's bytes), so views, aliasing checks,
``.data``, parameters, autograd and serialization are torch's own code at work. The storage's Python object, which torch
keeps for as long as the storage lives, holds the host. Operators run on hosts; ``host_of`` and ``on_device`` are the
two crossings, and the only places that know how a neuron tensor is made.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any, cast

import torch

from .accounting import (  # torch_neuronx.memory is also where programs look for these
    Allocation,
    max_memory_allocated,  # noqa: F401
    max_memory_reserved,  # noqa: F401
    memory_allocated,  # noqa: F401
    memory_reserved,  # noqa: F401
    memory_stats,  # noqa: F401
    memory_summary,  # noqa: F401
    reset_accumulated_memory_stats,  # noqa: F401
    reset_peak_memory_stats,  # noqa: F401
)

DEVICE_TYPE = "neuron"
INDEX = 0
"""The index of the device. A rank has one device and the stand-in no way to number it: neuron:0 on every rank."""

_CPU = torch._C.DispatchKey.CPU
_set = torch.ops.aten.set_.source_Storage_storage_offset
_new_storage = torch._C._construct_storage_from_data_pointer

# DLPack (dlpack.h, version 0.8): a capsule "dltensor" points to {void* data; struct {int32 type, id} device; ...}.
# Type 12, kDLExtDev, stands for a device from outside DLPack's list; torch reads it as its PrivateUse1 device, ours.
_DL_EXTENSION_DEVICE = 12
_DL_DEVICE_TYPE_OFFSET = ctypes.sizeof(ctypes.c_void_p)
_to_dlpack = torch._C._to_dlpack
_from_dlpack = torch._C._from_dlpack
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_int32_at = ctypes.c_int32.from_address


def host_of(tensor: torch.Tensor) -> torch.Tensor:
    """The CPU tensor with the shape, strides, dtype and memory of the neuron tensor `tensor`.

    Raises AttributeError for a tensor of another device.
    """
    storage = tensor.untyped_storage()
    try:
        host: torch.Tensor = storage.host  # type: ignore[attr-defined]
    except AttributeError:
        host = _host_of_foreign(storage)
    if tensor.is_conj() or tensor.is_neg():  # views that torch resolves when an operator reads them
        physical = torch._neg_view(tensor) if tensor.is_neg() else tensor
        physical = torch._conj(physical) if tensor.is_conj() else physical
        host = host_of(physical)
        host = torch._conj(host) if tensor.is_conj() else host
        return torch._neg_view(host) if tensor.is_neg() else host
    if tensor.dtype is not host.dtype:
        return fresh_host_of(tensor)
    shape, stride, offset = tensor.shape, tensor.stride(), tensor.storage_offset()
    if shape == host.shape and stride == host.stride() and offset == host.storage_offset():
        return host
    return host.as_strided(shape, stride, offset)


def fresh_host_of(tensor: torch.Tensor) -> torch.Tensor:
    """Like ``host_of``, but a tensor object of its own, which an operator may resize without harm."""
    host: torch.Tensor = tensor.untyped_storage().host  # type: ignore[attr-defined]
    alias = torch.empty(0, dtype=tensor.dtype, device="cpu")
    return alias.set_(host.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())


def on_device(host: torch.Tensor) -> torch.Tensor:
    """A new neuron tensor over the memory of the CPU tensor `host`, in a storage of its own."""
    host = host.resolve_conj().resolve_neg()
    if host.storage_offset():
        host = host.clone()  # a device storage begins where its host's does
    capsule = _to_dlpack(host)
    _int32_at(_capsule_pointer(capsule, b"dltensor") + _DL_DEVICE_TYPE_OFFSET).value = _DL_EXTENSION_DEVICE
    tensor: torch.Tensor = _from_dlpack(capsule)
    storage: Any = tensor.untyped_storage()
    storage.host, storage.allocation = host, Allocation(storage.nbytes())
    return tensor


def storage_over(host: torch.Tensor) -> torch.UntypedStorage:
    """A storage of the device over the whole storage of the CPU tensor `host`."""
    memory = host.untyped_storage()
    storage = cast(Any, _new_storage(memory.data_ptr(), torch.device(DEVICE_TYPE, INDEX), memory.nbytes()))
    storage.host, storage.allocation = host, Allocation(memory.nbytes())
    return cast(torch.UntypedStorage, storage)


def _host_of_foreign(storage: torch.UntypedStorage) -> torch.Tensor:
    """The host of a storage that torch itself laid over the memory of another one, as it does to pickle that one.

    It lives as long as that memory does, of which nobody is told: so it is used, and not kept.
    """
    if storage.device.type != DEVICE_TYPE:
        raise AttributeError(f"a storage on {storage.device} has no host")
    memory = (ctypes.c_char * storage.nbytes()).from_address(storage.data_ptr())
    return torch.frombuffer(memory, dtype=torch.uint8)


def device_count() -> int:
    """The cores of the chip: as many as torchrun started ranks, 1 without torchrun."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def check_index(device: torch.device) -> None:
    """Raise RuntimeError unless `device` names a core of the chip. All of them are this rank's one device, neuron:0."""
    if (device.index or 0) >= device_count():
        raise RuntimeError(f"{device} does not exist: the chip has {device_count()} logical cores, numbered from 0")


def place(tensor: torch.Tensor, storage: torch.UntypedStorage, offset: Any, shape: Any, stride: Any) -> torch.Tensor:
    """Let the neuron tensor `tensor` lie in the device storage `storage`, with this offset, shape and strides."""
    _set._op_dk(_CPU, tensor, storage, offset, shape, stride)
    return tensor
