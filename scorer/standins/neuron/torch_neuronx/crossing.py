"""Arguments and results of operators, from the device to the host and back: one operator sees one device."""

from __future__ import annotations

from typing import Any

import torch

from .memory import DEVICE_TYPE, fresh_host_of, host_of, on_device, place, storage_over

_CPU_DEVICE = torch.device("cpu")


def crossed(value: Any, operator: torch._ops.OpOverload) -> Any:
    """An argument of a neuron kernel as its CPU kernel takes it. A CPU tensor may only stand for a number (0-dim)."""
    if isinstance(value, torch.Tensor):
        if value.is_cpu:
            if value.dim():
                raise two_devices(operator, "cpu")
            return value
        try:
            return host_of(value)
        except AttributeError:
            if value.device.type == DEVICE_TYPE:
                raise
            raise two_devices(operator, str(value.device)) from None
    if isinstance(value, list | tuple):
        return [crossed(one, operator) for one in value]
    if isinstance(value, torch.device):
        return _CPU_DEVICE
    return value


def returned(value: Any) -> Any:
    """What a CPU kernel returns, on the device."""
    if isinstance(value, torch.Tensor):
        return on_device(value)
    if isinstance(value, tuple):
        return tuple(returned(one) for one in value)
    if isinstance(value, list):
        return [returned(one) for one in value]
    return value


def fresh(value: Any, operator: torch._ops.OpOverload) -> Any:
    """An ``out=`` argument as the CPU kernel takes it, free to be resized."""
    if isinstance(value, list | tuple):
        return [fresh(one, operator) for one in value]
    if value.is_cpu:
        raise two_devices(operator, "cpu")
    return fresh_host_of(value)


def follow(tensor: Any, host: Any) -> None:
    """Let `tensor` follow its fresh host, which an operator may have resized."""
    if isinstance(tensor, list | tuple):
        for one, other in zip(tensor, host, strict=True):
            follow(one, other)
    elif tensor.shape != host.shape or tensor.stride() != host.stride():
        place(tensor, storage_over(host), host.storage_offset(), host.shape, host.stride())


def two_devices(operator: torch._ops.OpOverload, other: str) -> RuntimeError:
    """The error of an operator whose tensors lie on different devices."""
    return RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices, neuron:0 and "
        f"{other}! (when running {operator})"
    )
