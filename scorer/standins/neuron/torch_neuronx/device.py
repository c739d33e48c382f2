"""Registration of the device "neuron" and of everything that goes by its name."""

from __future__ import annotations

import torch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from .neuron import NeuronModule


def register() -> None:
    """Register everything; once per process, on import of the package."""
    _setup_privateuseone_for_python_backend(rename="neuron", backend_module=NeuronModule())
    # The name must be known before these modules make their first torch.device("neuron").
    from . import autocast, compiler, distributed, kernels, operators, randomness, storages

    operators.register()
    autocast.register()
    storages.register()
    randomness.register()
    distributed.register()
    compiler.register()
    kernels.register()
    # Where torch.accelerator.synchronize() ends: a device guard in Python cannot say that there is nothing to wait for.
    torch._C._accelerator_synchronizeDevice = lambda device_index: None
