"""Registration of the device: its name, module, operators, generator, storage moves, process group and compile backend."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from . import memory
from .neuron import NeuronModule


def register() -> None:
    """Register everything, once per process."""
    _setup_privateuseone_for_python_backend(rename="neuron", backend_module=NeuronModule())
    from . import autocast, compiler, distributed, kernels, operators, randomness

    operators.register()
    randomness.register()
    distributed.register()
    compiler.register()
    autocast.register()
    kernels.register()
    torch.UntypedStorage.__new__ = staticmethod(_new_storage)  # type: ignore[method-assign]


_torch_new_storage = torch.UntypedStorage.__new__


def _new_storage(
    cls: type[torch.UntypedStorage], *args: Any, device: Any = None, **kwargs: Any
) -> torch.UntypedStorage:
    """``torch.UntypedStorage(bytes, device="neuron")``: torch would ask a C++ allocator, which a Python backend cannot register."""
    if device is None or torch.device(device).type != "neuron":
        return _torch_new_storage(cls, *args, device=device, **kwargs)
    (size,) = args or (kwargs["size"],)
    return memory.storage_over(torch.empty(size, dtype=torch.uint8))
