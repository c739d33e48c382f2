"""What kernels for NKI before 0.5 use and no later one has: refused with what took its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from ._errors import AbsentNameError, NkiValidationError

_CALL = "a call of the kernel itself, or of nki.simulate(kernel) on a CPU"
FROM_NKI = {
    "baremetal": _CALL,
    "benchmark": _CALL + ", timed from outside",
    "profile": _CALL + ", under the profiler of the device",
    "simulate_kernel": "nki.simulate(kernel)(...)",
    "trace": "nki.jit",
}
FROM_COMPILER = {
    "enable_stack_allocator": "nl.ndarray(address=) where a tile needs its place",
    "force_auto_alloc": "nl.ndarray without address",
    "multi_buffer": "a list of tiles, used in turns",
    "psum": "buffer=nl.psum",
    "sbuf": "buffer=nl.sbuf",
    "skip_middle_end_transformations": "nl.no_reorder for instructions whose order matters",
}
_FROM_TENSOR = {
    "astype": "nl.copy(x, dtype=...), or nisa.tensor_copy into a tile of that type",
    "bitcast": "view(dtype)",
    "broadcast_to": "broadcast(dim, size), or nl.broadcast_to",
    "expand_dims": "expand_dim(dim)",
}


def refuse_absent(module: str, name: str, instead: Mapping[str, str]) -> NoReturn:
    """For the `__getattr__` of `module`, whose names before NKI 0.5 have `instead`."""
    if name in instead:
        raise AbsentNameError(f"{module}.{name} was removed before NKI 0.5: use {instead[name]}")
    raise AttributeError(f"{module}.{name} is not in this stand-in for NKI", name=name, obj=None)


def _absent(symbol: str, instead: str) -> Callable[..., Any]:
    def refused(*_: Any) -> NoReturn:
        error = NkiValidationError(f"no operator of tensors in NKI from 0.5 to 0.7: use {instead}")
        error.instruction = symbol
        raise error

    return refused


class WithoutOperators:
    """Base class: Python's operators compute nothing, since an instruction needs a destination."""

    __slots__ = ()

    __add__ = __radd__ = _absent("+", "nl.add, or nisa.tensor_tensor and tensor_scalar with op=nl.add")
    __sub__ = __rsub__ = _absent("-", "nl.subtract, or nisa.tensor_tensor and tensor_scalar with op=nl.subtract")
    __mul__ = __rmul__ = _absent("*", "nl.multiply, or nisa.tensor_tensor and tensor_scalar with op=nl.multiply")
    __truediv__ = __rtruediv__ = _absent("/", "nl.reciprocal and nl.multiply")
    __pow__ = __rpow__ = _absent("**", "nl.power, or nisa.tensor_scalar with op0=nl.power")
    __matmul__ = __rmatmul__ = _absent("@", "nl.matmul(x, y, transpose_x=True), or nisa.nc_matmul")
    __neg__ = _absent("-", "nl.negative, or nisa.tensor_scalar with op0=nl.multiply, operand0=-1.0")
    __abs__ = _absent("abs", "nl.abs, or nisa.activation with op=nl.abs")
    __and__ = __rand__ = _absent("&", "nl.bitwise_and or nl.logical_and")
    __or__ = __ror__ = _absent("|", "nl.bitwise_or or nl.logical_or")
    __xor__ = __rxor__ = _absent("^", "nl.bitwise_xor or nl.logical_xor")
    __invert__ = _absent("~", "nl.invert or nl.logical_not")
    __lshift__ = _absent("<<", "nl.left_shift")
    __rshift__ = _absent(">>", "nl.right_shift")
    __lt__ = _absent("<", "nl.less")
    __le__ = _absent("<=", "nl.less_equal")
    __gt__ = _absent(">", "nl.greater")
    __ge__ = _absent(">=", "nl.greater_equal")

    def __getattr__(self, name: str) -> NoReturn:
        if name in _FROM_TENSOR:
            raise AbsentNameError(f"a tensor has no {name} in NKI from 0.5 to 0.7: use {_FROM_TENSOR[name]}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
