"""Launching NKI kernels on neuron tensors: called directly, by `wrap_nki`, or inside a custom operator by `nki_op`.

Under ``torch.compile`` a launch through `wrap_nki` or `nki_op` is one node of the graph. While torch traces, the kernel
runs on ones, which gives the shapes of its results and is no launch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import nki
import numpy as np
import torch
from nki._core import shapes_only
from nki._frameworks import Framework, framework_of
from nki._frameworks import register as register_framework
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.utils import _pytree as pytree

from .memory import DEVICE_TYPE, host_of, on_device


def wrap_nki(kernel: nki.Kernel) -> WrappedKernel:
    """`kernel`, made by ``nki.jit``, as a function of neuron tensors; ``wrap_nki(kernel)[lnc]`` runs on `lnc` cores."""
    return WrappedKernel(kernel, None)


class WrappedKernel:
    """A kernel that takes and returns neuron tensors."""

    def __init__(self, kernel: nki.Kernel, lnc: int | None) -> None:
        self.kernel = kernel
        self.lnc = lnc

    def __getitem__(self, lnc: int) -> WrappedKernel:
        return WrappedKernel(self.kernel, lnc)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Launch the kernel. Raises TypeError when a tensor lies elsewhere than on the device."""
        return _launch(self.kernel, self.lnc, args, kwargs)


def _launch(kernel: nki.Kernel, lnc: int | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    chosen = kernel if lnc is None else kernel[lnc]
    fake = False
    for place, value in [*enumerate(args), *kwargs.items()]:
        if isinstance(value, torch.Tensor) and value.device.type != DEVICE_TYPE:
            raise TypeError(
                f"kernel {kernel.__name__}: argument {place} is a tensor on {value.device}; "
                f"kernels take tensors on {DEVICE_TYPE}: move it with .to({DEVICE_TYPE!r})"
            )
        fake = fake or isinstance(value, FakeTensor)
    if fake:
        return _results_on_ones(chosen.run, args, kwargs)
    return chosen.run(*args, **kwargs) if _tracing else chosen(*args, **kwargs)


def make_traceable() -> None:
    """Let dynamo take a launch for one node, with its kernel a constant. Called by the first ``torch.compile``."""
    from torch._dynamo import nonstrict_trace

    global _launch
    pytree.register_constant(nki.Kernel)
    _launch = nonstrict_trace(_launch)


def nki_op(name: str, *, mutates_args: str | Iterable[str]) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: a fully typed function that launches kernels becomes the custom operator `name` ("namespace::name").

    `mutates_args` names the arguments that it writes in place (empty: none). The operator has ``register_autograd`` as
    in ``torch.library``.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        mutated = mutates_args if isinstance(mutates_args, str) else tuple(mutates_args)
        operator = torch.library.custom_op(name, function, mutates_args=mutated)
        operator.register_fake(lambda *args, **kwargs: _results_on_ones(function, args, kwargs))
        return operator

    return decorate


_tracing = False


def _results_on_ones(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `function` returns for tensors like these fake ones, as fake tensors."""
    with unset_fake_temporarily(), _while_tracing():
        results = function(*[_ones(value) for value in args], **{name: _ones(value) for name, value in kwargs.items()})
    if isinstance(results, torch.Tensor):
        return _empty_like(results)
    return results if results is None else type(results)(_empty_like(result) for result in results)


@contextlib.contextmanager
def _while_tracing() -> Iterator[None]:
    global _tracing
    outside, _tracing = _tracing, True
    try:
        with shapes_only():
            yield
    finally:
        _tracing = outside


def _ones(value: Any) -> Any:
    if isinstance(value, FakeTensor):
        return torch.ones([int(size) for size in value.shape], dtype=value.dtype, device=value.device)
    return [_ones(one) for one in value] if isinstance(value, list | tuple) else value


def _empty_like(result: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(result.shape, result.stride(), dtype=result.dtype, device=result.device)


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
