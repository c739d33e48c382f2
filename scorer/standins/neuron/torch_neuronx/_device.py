"""Registration of the device "neuron" and of everything that goes by its name."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from . import accounting
from .neuron import NeuronModule


def register() -> None:
    """Register everything; once per process, on import of the package."""
    _setup_privateuseone_for_python_backend(rename="neuron", backend_module=NeuronModule())
    # The name must be known before these modules make their first torch.device("neuron").
    from . import autocast, compiler, distributed, heap, kernels, operators, pinned, randomness, storages, streams

    heap.keep()
    operators.register()
    autocast.register()
    storages.register()
    randomness.register()
    streams.register()
    pinned.register()
    distributed.register()
    compiler.register()
    kernels.register()
    # Where torch.accelerator ends: a device guard in Python cannot say that there is nothing to wait for, nor can hooks
    # in Python have an allocator that counts.
    torch._C._accelerator_synchronizeDevice = lambda device_index: None
    torch._C._accelerator_isAllocatorInitialized = lambda: True
    torch._C._accelerator_emptyCache = accounting.empty_cache
    torch._C._accelerator_getDeviceStats = _device_stats
    torch._C._accelerator_resetPeakStats = accounting.reset_peak_memory_stats  # type: ignore[assignment]
    torch._C._accelerator_resetAccumulatedStats = accounting.reset_accumulated_memory_stats  # type: ignore[assignment]
    torch._C._accelerator_getMemoryInfo = accounting.mem_get_info  # type: ignore[assignment]


def _device_stats(device_index: int) -> dict[str, Any]:
    """As ``torch.accelerator.memory_stats`` flattens them: by pool, of which there is one."""
    stats = accounting.memory_stats()
    return {name: {"all": value} if isinstance(value, dict) else value for name, value in stats.items()}
