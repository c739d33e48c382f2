"""Launching NKI kernels on neuron tensors: called directly, by `wrap_nki`, or inside a custom operator by `nki_op`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import nki
import numpy as np
import torch
from nki._frameworks import Framework, framework_of
from nki._frameworks import register as register_framework
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily

from .memory import DEVICE_TYPE, host_of, on_device


def wrap_nki(kernel: nki.Kernel) -> WrappedKernel:
    """`kernel`, made by ``nki.jit``, as a function of neuron tensors; ``wrap_nki(kernel)[lnc]`` runs on `lnc` cores."""
    return WrappedKernel(kernel)


class WrappedKernel:
    """A kernel that takes and returns neuron tensors."""

    def __init__(self, kernel: nki.Kernel) -> None:
        self.kernel = kernel

    def __getitem__(self, lnc: int) -> WrappedKernel:
        return WrappedKernel(self.kernel[lnc])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Launch the kernel. Raises TypeError when a tensor lies elsewhere than on the device."""
        for place, value in [*enumerate(args), *kwargs.items()]:
            if isinstance(value, torch.Tensor) and value.device.type != DEVICE_TYPE:
                raise TypeError(
                    f"kernel {self.kernel.__name__}: argument {place} is a tensor on {value.device}; "
                    f"kernels take tensors on {DEVICE_TYPE}: move it with .to({DEVICE_TYPE!r})"
                )
        return self.kernel(*args, **kwargs)


def nki_op(name: str, *, mutates_args: str | Iterable[str]) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: a fully typed function that launches kernels becomes the custom operator `name` ("namespace::name").

    `mutates_args` names the arguments that it writes in place (empty: none). Shapes for ``torch.compile`` come from
    running the function on ones. The operator has ``register_autograd`` as in ``torch.library``.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        mutated = mutates_args if isinstance(mutates_args, str) else tuple(mutates_args)
        operator = torch.library.custom_op(name, function, mutates_args=mutated)
        operator.register_fake(lambda *args, **kwargs: _shapes(function, args, kwargs))
        return operator

    return decorate


def _shapes(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `function` returns for these fake tensors, as fake tensors: it runs on tensors of ones."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    with unset_fake_temporarily():
        results = function(*[_ones(value) for value in bound.args], **{k: _ones(v) for k, v in bound.kwargs.items()})
    if isinstance(results, torch.Tensor):
        return torch.empty_strided(results.shape, results.stride(), dtype=results.dtype, device=results.device)
    return results if results is None else tuple(
        torch.empty_strided(one.shape, one.stride(), dtype=one.dtype, device=one.device) for one in results
    )  # fmt: skip


def _ones(value: Any) -> Any:
    if isinstance(value, FakeTensor):
        return torch.ones([int(size) for size in value.shape], dtype=value.dtype, device=value.device)
    return [_ones(one) for one in value] if isinstance(value, list | tuple) else value


class _NeuronTensors:
    """Neuron tensors as ``nki`` meets them in a launch: the host's memory, without a copy."""

    def owns(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor) and value.device.type == DEVICE_TYPE

    def to_numpy(self, value: Any) -> np.ndarray[Any, Any]:
        host = host_of(value.detach())
        array: np.ndarray[Any, Any] = _framework(host).to_numpy(host)
        return array

    def from_numpy(self, array: np.ndarray[Any, Any], like: Any) -> Any:
        host = host_of(like.detach())
        return on_device(_framework(host).from_numpy(array, host))


def _framework(host: torch.Tensor) -> Framework:
    framework = framework_of(host)
    assert framework is not None  # nki knows torch's CPU tensors
    return framework


def register() -> None:
    """Let kernels take neuron tensors."""
    register_framework(_NeuronTensors())
