"""Device memory: a neuron tensor is a plain ``torch.Tensor`` on the device "neuron" whose bytes lie in a CPU tensor, its host.

A neuron tensor has an ordinary storage (device "neuron", address and size of the host's), so views, aliasing checks, ``.data``, parameters,
autograd and serialization are torch's own code at work. The storage's Python object, which torch keeps alive for as long as the storage lives,
holds the host. Operators run on the host; ``host_of`` and ``on_device`` are the two crossings.
"""

from __future__ import annotations

import torch

DEVICE = torch.device("cpu")  # replaced by device("neuron", 0) when the package has registered the name
_CPU = torch._C.DispatchKey.CPU
_set = torch.ops.aten.set_.source_Storage_storage_offset
_new_storage = torch._C._construct_storage_from_data_pointer
_new_tensor = torch._C._acc.create_empty_tensor


def host_of(tensor: torch.Tensor) -> torch.Tensor:
    """The CPU tensor with `tensor`'s shape, strides, dtype and bytes (the same memory, not a copy)."""
    host: torch.Tensor = tensor.untyped_storage().host  # type: ignore[attr-defined]
    if tensor.dtype is not host.dtype:
        return fresh_host_of(tensor)
    shape, stride, offset = tensor.shape, tensor.stride(), tensor.storage_offset()
    if shape == host.shape and stride == host.stride() and offset == host.storage_offset():
        return host
    return host.as_strided(shape, stride, offset)


def fresh_host_of(tensor: torch.Tensor) -> torch.Tensor:
    """Like ``host_of``, but a tensor object of its own, which an ``out=`` operator may resize without harm."""
    host: torch.Tensor = tensor.untyped_storage().host  # type: ignore[attr-defined]
    alias = torch.empty(0, dtype=tensor.dtype)
    return alias.set_(host.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())


def on_device(host: torch.Tensor) -> torch.Tensor:
    """A neuron tensor over the memory of the CPU tensor `host`."""
    return on_storage(storage_over(host), host)


def storage_over(host: torch.Tensor) -> torch.UntypedStorage:
    """A storage of the device over the whole storage of the CPU tensor `host`."""
    memory = host.untyped_storage()
    storage = _new_storage(memory.data_ptr(), DEVICE, memory.nbytes())
    storage.host = host
    return storage


def on_storage(storage: torch.UntypedStorage, like: torch.Tensor) -> torch.Tensor:
    """A neuron tensor in the device storage `storage`, with dtype, shape, strides and offset of `like`."""
    tensor = _new_tensor((0,), like.dtype)
    _set._op_dk(_CPU, tensor, storage, like.storage_offset(), like.shape, like.stride())
    return tensor
