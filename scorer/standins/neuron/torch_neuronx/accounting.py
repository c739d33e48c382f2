"""How much memory the device's tensors take: what ``torch.neuron.memory_stats`` and its kin answer.

The stand-in frees at once and keeps no cache, so reserved, active and allocated bytes are the same. Sizes are those of
the tensors' storages; nothing is rounded up to an allocator's blocks, as hardware would.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

_HBM_BYTES_PER_CORE = 12 * 2**30  # Trn2: 96 GiB of HBM, eight physical cores
_CORES_PER_DEVICE = {"1": 1, "2": 2}  # NEURON_LOGICAL_NC_CONFIG; 2 where it is not set, as on Trn2


class Counter:
    """Bytes in use now, at the most since the last reset, and added and removed in all; and how often."""

    def __init__(self) -> None:
        self.current = self.peak = self.allocated = self.freed = self.requests = self.frees = 0

    def reset_accumulated(self) -> None:
        """Forget what was added and removed."""
        self.allocated = self.freed = self.requests = self.frees = 0


counter = Counter()
"""Of this process, whose tensors all lie on one device."""


class Allocation:
    """The bytes of one storage of the device, counted for as long as this object lives: the storage holds it."""

    __slots__ = ("_size",)

    def __init__(self, size: int) -> None:
        self._size = size
        counter.requests += 1
        counter.allocated += size
        counter.current += size
        if counter.current > counter.peak:
            counter.peak = counter.current

    def __del__(self) -> None:
        counter.frees += 1
        counter.freed += self._size
        counter.current -= self._size


@dataclass(frozen=True)
class DeviceProperties:
    """What is known of a device: its name, and the bytes of HBM that a logical core of Trn2 has."""

    name: str
    total_memory: int


def total_memory() -> int:
    """HBM of the logical core, bytes: 24 GiB where it is two physical cores, 12 GiB where it is one.

    Raises ValueError for another NEURON_LOGICAL_NC_CONFIG.
    """
    configured = os.environ.get("NEURON_LOGICAL_NC_CONFIG", "") or "2"
    if configured not in _CORES_PER_DEVICE:
        raise ValueError(f"NEURON_LOGICAL_NC_CONFIG={configured}; a logical core of Trn2 is 1 or 2 physical ones")
    return _CORES_PER_DEVICE[configured] * _HBM_BYTES_PER_CORE


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Counts of bytes (each with current, peak, allocated and freed) and of requests."""
    byte_counts = {
        "current": counter.current,
        "peak": counter.peak,
        "allocated": counter.allocated,
        "freed": counter.freed,
    }
    return {
        **{name: dict(byte_counts) for name in ("allocated_bytes", "reserved_bytes", "active_bytes")},
        "num_alloc_retries": 0,
        "num_ooms": 0,
        "num_tensor_frees": counter.frees,
        "allocation_requests": counter.requests,
    }


def memory_allocated(device: Any = None) -> int:
    """Bytes of the tensors that are alive."""
    return counter.current


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that were alive at a time since the last `reset_peak_memory_stats`."""
    return counter.peak


memory_reserved, max_memory_reserved = memory_allocated, max_memory_allocated


def reset_peak_memory_stats(device: Any = None) -> None:
    """Count the peak from now on."""
    counter.peak = counter.current


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Count what is added and removed from now on."""
    counter.reset_accumulated()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Bytes of HBM that are free, and all of them."""
    total = total_memory()
    return max(0, total - counter.current), total


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The counts as text."""
    rows = [f"{name:<10}{count:>20,}" for name, count in memory_stats()["allocated_bytes"].items()]
    return "\n".join(["Neuron stand-in, bytes of tensors", *rows])


def empty_cache() -> None:
    """Give unused memory back: there never is any."""


FUNCTIONS = {
    "empty_cache": empty_cache,
    "max_memory_allocated": max_memory_allocated,
    "max_memory_reserved": max_memory_reserved,
    "mem_get_info": mem_get_info,
    "memory_allocated": memory_allocated,
    "memory_reserved": memory_reserved,
    "memory_stats": memory_stats,
    "memory_summary": memory_summary,
    "reset_accumulated_memory_stats": reset_accumulated_memory_stats,
    "reset_peak_memory_stats": reset_peak_memory_stats,
}
"""What a program may call, of `torch.neuron`, `torch_neuronx` and `torch_neuronx.memory` alike."""
