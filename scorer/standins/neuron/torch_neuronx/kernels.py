"""Launching NKI kernels on neuron tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .memory import host_of, on_device


class WrappedKernel:
    """A kernel that takes and returns neuron tensors; ``wrapped[lnc]`` chooses the number of physical cores per logical core."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def __getitem__(self, lnc: int) -> WrappedKernel:
        return WrappedKernel(self.kernel[lnc])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel. Raises TypeError when a tensor lies elsewhere than on the device."""
        name = getattr(self.kernel, "__name__", "kernel")
        hosts = [_to_kernel(a, name, str(i)) for i, a in enumerate(args)]
        named = {key: _to_kernel(value, name, key) for key, value in kwargs.items()}
        return _from_kernel(self.kernel(*hosts, **named))


def wrap_nki(kernel: Any) -> WrappedKernel:
    """`kernel`, an ``nki.jit`` function, as a function of neuron tensors."""
    return WrappedKernel(kernel)


def nki_op(name: str, *, mutates_args: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that makes a fully typed function, which launches kernels, the custom operator `name` ("namespace::name").

    `mutates_args` names the arguments that it writes in place (empty: none). The operator has ``register_autograd`` as in ``torch.library``.
    """
    return torch.library.custom_op(
        name, mutates_args=tuple(mutates_args) if not isinstance(mutates_args, str) else mutates_args
    )


def _to_kernel(value: Any, kernel: str, argument: str) -> Any:
    if isinstance(value, torch.Tensor):
        if value.device.type != "neuron":
            raise TypeError(
                f"kernel {kernel}: argument {argument} is a tensor on {value.device}; kernels take tensors on neuron: move it with .to('neuron')"
            )
        return host_of(value.detach())
    if isinstance(value, list | tuple):
        return type(value)(_to_kernel(one, kernel, argument) for one in value)
    return value


def _from_kernel(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return on_device(value)
    if isinstance(value, list | tuple):
        return type(value)(_from_kernel(one) for one in value)
    return value
