"""Random numbers of the device: generators of its own, with the CPU's algorithm: one seed, one stream on both."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch

from .memory import DEVICE_TYPE, INDEX

_TorchGenerator: Any = torch._C.Generator
_device_generators: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


class NeuronGenerator(_TorchGenerator):  # type: ignore[misc]  # torch's class is known at run time only
    """A generator whose device is neuron."""

    def __init__(self) -> None:
        _device_generators[self._cdata] = self  # an operator sees no more of its generator than this handle

    @property
    def device(self) -> torch.device:
        """The device, neuron:0."""
        return torch.device(DEVICE_TYPE, INDEX)


class _AnyGenerator(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _TorchGenerator)


class Generator(metaclass=_AnyGenerator):
    """``torch.Generator``, which a Python backend cannot teach a device otherwise."""

    def __new__(cls, device: Any = "cpu") -> Any:
        """A new generator of `device`."""
        return NeuronGenerator() if torch.device(device).type == DEVICE_TYPE else _TorchGenerator(device)


default: Any = NeuronGenerator()
"""The device's default generator; ``torch.manual_seed`` seeds it too."""


def register() -> None:
    """Let ``torch.Generator(device="neuron")`` make generators of the device."""
    torch.Generator = Generator  # type: ignore[misc]


def with_device_generator(operator: torch._ops.OpOverload) -> Callable[..., Any]:
    """`operator`, drawing from the device's default generator unless the caller passes one of the device."""
    place = next(i for i, argument in enumerate(operator._schema.arguments) if argument.name == "generator")

    def compute(*args: Any, **kwargs: Any) -> Any:
        if len(args) > place:
            return operator(*args[:place], _checked(args[place]), *args[place + 1 :], **kwargs)
        kwargs["generator"] = _checked(kwargs.get("generator"))
        return operator(*args, **kwargs)

    return compute


def _checked(generator: Any) -> Any:
    if generator is None:
        return default
    if generator._cdata not in _device_generators:
        raise RuntimeError(f"Expected a 'neuron' device type for generator but found '{generator.device.type}'")
    return generator


def with_device_state(operator: torch._ops.OpOverload) -> Callable[..., Any]:
    """`operator`, which takes no generator, drawing from the device's: its state stands in for the CPU's meanwhile."""

    def compute(*args: Any, **kwargs: Any) -> Any:
        host = torch.default_generator
        kept = host.get_state()
        host.set_state(default.get_state())
        try:
            return operator(*args, **kwargs)
        finally:
            default.set_state(host.get_state())
            host.set_state(kept)

    return compute
