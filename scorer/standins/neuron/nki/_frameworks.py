"""Launch arguments of other array libraries: what counts as a tensor, and how it becomes a NumPy array without a copy.

NumPy and torch CPU tensors are built in; torch is not imported for it. The stand-in `torch_neuronx` registers its
device tensors.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ._dtypes import SUPPORTED, Array
from ._errors import refuse


class Framework(Protocol):
    """One array library."""

    def owns(self, value: Any) -> bool:
        """Whether `value` is one of its tensors."""

    def to_numpy(self, value: Any) -> Array:
        """The tensor's memory as a NumPy array, not copied; bf16 and fp8 with the types of ml_dtypes."""

    def from_numpy(self, array: Array, like: Any) -> Any:
        """A tensor over the memory of `array`, on the device of `like`, an argument of the same launch."""


class _NumPy:
    def owns(self, value: Any) -> bool:
        return isinstance(value, np.ndarray)

    def to_numpy(self, value: Any) -> Array:
        array: Array = value
        return array

    def from_numpy(self, array: Array, like: Any) -> Any:
        return array


class _Torch:
    """torch tensors on the CPU."""

    def owns(self, value: Any) -> bool:
        torch = sys.modules.get("torch")
        return torch is not None and isinstance(value, torch.Tensor)

    def to_numpy(self, value: Any) -> Array:
        torch = sys.modules["torch"]
        if value.device.type != "cpu":
            refuse(
                f"a tensor on device {value.device} cannot be launched on; expected cpu (or neuron, with "
                "torch_neuronx imported)"
            )
        carrier = _carriers(torch).get(value.dtype)
        value = value.detach()
        if carrier is None:
            array: Array = value.numpy()
            return array
        bits, dtype = carrier
        return value.view(bits).numpy().view(dtype)  # type: ignore[no-any-return]

    def from_numpy(self, array: Array, like: Any) -> Any:
        torch = sys.modules["torch"]
        for torch_dtype, (_, dtype) in _carriers(torch).items():
            if array.dtype == dtype:
                return torch.from_numpy(array.view(f"u{array.itemsize}")).view(torch_dtype)
        return torch.from_numpy(array)


def _carriers(torch: Any) -> dict[Any, tuple[Any, Any]]:
    """torch types that NumPy does not know: the integer type that carries their bits, and their ml_dtypes type."""
    global _carrier_table
    if _carrier_table is None:
        _carrier_table = {
            torch.bfloat16: (torch.uint16, SUPPORTED["bfloat16"]),
            torch.float8_e4m3fn: (torch.uint8, SUPPORTED["float8_e4m3fn"]),
            torch.float8_e5m2: (torch.uint8, SUPPORTED["float8_e5m2"]),
        }
    return _carrier_table


_carrier_table: dict[Any, tuple[Any, Any]] | None = None
_frameworks: list[Framework] = [_NumPy(), _Torch()]


def register(framework: Framework) -> None:
    """Adds a library. The one registered last is asked first, so that it can claim subclasses of another's tensors."""
    _frameworks.insert(0, framework)


def framework_of(value: Any) -> Framework | None:
    """The library whose tensor `value` is, None for anything else (a compile-time value)."""
    for framework in _frameworks:
        if framework.owns(value):
            return framework
    return None


@dataclass(frozen=True)
class Argument:
    """A tensor argument: its name, the caller's object, its library, the memory that the kernel works on."""

    name: str
    value: Any
    framework: Framework
    array: Array
    writable: bool  # False where the caller's memory is read-only, or not contiguous so that the kernel works on a copy
