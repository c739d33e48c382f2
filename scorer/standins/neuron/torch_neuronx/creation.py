"""Operators that make tensors from nothing, move bytes to and from the device, or point a tensor at a storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .memory import DEVICE_TYPE, check_index, host_of, on_device, place, storage_over


def kernels() -> dict[str, Callable[..., Any]]:
    """The neuron kernels of this module by operator name."""
    return {
        "record_stream": _record_stream,
        "empty.memory_format": _empty,
        "empty_strided": _empty_strided,
        "copy_": _copy_,
        "_copy_from": _copy_from,
        "_to_copy": _to_copy,
        "_local_scalar_dense": _local_scalar_dense,
        "set_.source_Storage": _set_to_storage,
        "set_": _set_to_nothing,
    }


def _empty(
    size: Any,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
    memory_format: torch.memory_format | None = None,
) -> torch.Tensor:
    _check(device, pin_memory)
    memory_format = memory_format or torch.contiguous_format
    return on_device(torch.empty(size, dtype=dtype, layout=layout, device="cpu", memory_format=memory_format))


def _empty_strided(
    size: Any,
    stride: Any,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
) -> torch.Tensor:
    _check(device, pin_memory)
    return on_device(torch.empty_strided(size, stride, dtype=dtype, layout=layout, device="cpu"))


def _check(device: torch.device | None, pin_memory: bool | None) -> None:
    if device is not None:
        check_index(device)
    if pin_memory:
        raise RuntimeError("only CPU memory can be pinned, and pin_memory=True was asked for on device neuron")


def _copy_(self: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    _bytes_of(self).copy_(_bytes_of(source))
    return self


def _copy_from(self: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    _bytes_of(target).copy_(_bytes_of(self))
    return target


def _to_copy(
    self: torch.Tensor,
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
    non_blocking: bool = False,
    memory_format: torch.memory_format | None = None,
) -> torch.Tensor:
    to_device = device is None or device.type == DEVICE_TYPE
    _check(device if to_device else None, pin_memory)
    copy = torch.ops.aten._to_copy.default(
        _bytes_of(self), dtype=dtype, layout=layout, device="cpu" if to_device else device, memory_format=memory_format
    )
    return on_device(copy) if to_device else copy


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.is_cpu else host_of(tensor)


def _record_stream(self: torch.Tensor, stream: Any) -> None:
    """Nothing to record: memory is given back when the last tensor that uses it goes, on whatever stream."""


def _local_scalar_dense(self: torch.Tensor) -> bool | float | int | complex:
    return host_of(self).item()


def _set_to_storage(self: torch.Tensor, source: torch.UntypedStorage) -> torch.Tensor:
    return place(self, source, 0, (source.nbytes() // self.element_size(),), (1,))


def _set_to_nothing(self: torch.Tensor) -> torch.Tensor:
    return place(self, storage_over(torch.empty(0, dtype=self.dtype, device="cpu")), 0, (0,), (1,))
