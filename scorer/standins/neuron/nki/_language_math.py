"""The operators as functions: `nl.exp(x)`, `nl.add(x, y)`. Each makes a new SBUF tile with instructions of `nki.isa`.

Two tiles must have one shape: broadcasting passes NKI's simulator, but the compiler for Trn2 rejects it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import isa
from ._alu import FUNCTIONS, OPERATORS, REMEDIES, Operator, operator_of
from ._dtypes import FLOATS, FP8, Dtype, as_dtype, bfloat16, float32, int32
from ._errors import refuse
from ._language_tensors import ndarray
from ._tensor import NkiTensor

_BINARY = (
    *("add", "subtract", "multiply", "maximum", "minimum", "power", "abs_max", "abs_min"),
    *("equal", "not_equal", "greater", "greater_equal", "less", "less_equal"),
    *("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"),
    *("left_shift", "right_shift", "divide", "fmod", "mod"),
)
_ACTIVATIONS = (
    *("square", "exp", "log", "sqrt", "tanh", "sigmoid", "relu", "gelu", "gelu_dx", "gelu_apprx_tanh"),
    *("gelu_apprx_sigmoid", "gelu_apprx_sigmoid_dx", "silu", "silu_dx", "softplus", "mish", "erf", "erf_dx"),
    *("arctan", "sign"),
)
# 2 pi in two parts, the first one with trailing zeros so that small multiples of it are exact.
_TURN_HIGH = 6.28125
_TURN_LOW = 2.0 * math.pi - _TURN_HIGH
_PI = float(np.nextafter(np.float32(math.pi), np.float32(0.0)))


def promoted(*dtypes: Dtype) -> Dtype:
    """The element type of a result: the widest of the operands', a floating-point one if there is any."""
    floats = {dtype for dtype in dtypes if dtype in FLOATS}
    if floats:
        wide = floats - FP8
        if len(wide) > 1:
            return float32
        return next(iter(wide)) if wide else next(iter(floats)) if len(floats) == 1 else bfloat16
    found = np.result_type(*dtypes)
    return int32 if found.itemsize > 4 else found


def tile_of(value: Any, operand: str) -> NkiTensor:
    """`value` as a tensor."""
    if not isinstance(value, NkiTensor):
        refuse(f"expected a tile, found {value!r}", operand)
    return value


def new(like: NkiTensor, dtype: Any = None) -> NkiTensor:
    """An undefined SBUF tile of the shape of `like`, and its type unless given."""
    return ndarray(like.shape, like.dtype if dtype is None else as_dtype(dtype))


def _binary(op: Operator) -> Callable[..., NkiTensor]:
    def function(x: Any, y: Any, dtype: Any = None) -> NkiTensor:
        if op.name in REMEDIES:
            refuse(REMEDIES[op.name])
        operator_of(op, "op")
        if isinstance(x, NkiTensor) and isinstance(y, NkiTensor):
            if x.shape != y.shape:
                refuse(
                    f"{x.shape} with {y.shape}: broadcasting passes the simulator and is rejected by the compiler for "
                    "Trn2; use tensor_scalar with a (P, 1) operand, or a .broadcast() view",
                    "y",
                )
            dst = new(x, promoted(x.dtype, y.dtype) if dtype is None else dtype)
            isa.tensor_tensor(dst=dst, data1=x, data2=y, op=op)
            return dst
        reverse = not isinstance(x, NkiTensor)
        tile, number = (tile_of(y, "y"), x) if reverse else (x, y)
        dst = new(tile, dtype)
        isa.tensor_scalar(dst=dst, data=tile, op0=op, operand0=number, reverse0=reverse)
        return dst

    return function


def _activation(op: Operator) -> Callable[..., NkiTensor]:
    def function(x: Any, dtype: Any = None) -> NkiTensor:
        dst = new(tile_of(x, "x"), dtype)
        isa.activation(dst=dst, op=op, data=x)
        return dst

    return function


def _with_scalar(name: str, operand: Any) -> Callable[..., NkiTensor]:
    def function(x: Any, dtype: Any = None) -> NkiTensor:
        dst = new(tile_of(x, "x"), dtype)
        isa.tensor_scalar(dst=dst, data=x, op0=OPERATORS[name], operand0=operand)
        return dst

    return function


def _reciprocal(x: Any, dtype: Any = None) -> NkiTensor:
    dst = new(tile_of(x, "x"), dtype)
    isa.reciprocal(dst=dst, data=x)
    return dst


def _copy(x: Any, dtype: Any = None) -> NkiTensor:
    dst = new(tile_of(x, "x"), dtype)
    isa.tensor_copy(dst=dst, src=x)
    return dst


def _rsqrt(x: Any, dtype: Any = None) -> NkiTensor:
    """On GpSimd, so not from PSUM."""
    dst = new(tile_of(x, "x"), dtype)
    isa.tensor_scalar(dst=dst, data=x, op0=OPERATORS["rsqrt"], operand0=0.0, engine=isa.engine.gpsimd)
    return dst


def _nearest(x: NkiTensor) -> NkiTensor:
    """The nearest integers, halves to even, in fp32: through int32."""
    whole, result = new(x, int32), new(x, float32)
    isa.tensor_copy(dst=whole, src=x)
    isa.tensor_copy(dst=result, src=whole)
    return result


def _stepped(compare: str, step: str) -> Callable[..., NkiTensor]:
    """floor and ceil: the nearest integer, moved by one where it lies on the wrong side."""

    def function(x: Any, dtype: Any = None) -> NkiTensor:
        nearest = _nearest(tile_of(x, "x"))
        wrong, dst = new(x, float32), new(x, dtype)
        isa.tensor_tensor(dst=wrong, data1=nearest, data2=x, op=OPERATORS[compare])
        isa.tensor_tensor(dst=dst, data1=nearest, data2=wrong, op=OPERATORS[step])
        return dst

    return function


_floor = _stepped("greater", "subtract")


def _trunc(x: Any, dtype: Any = None) -> NkiTensor:
    size = FUNCTIONS["abs"](x, dtype=float32)
    sign = FUNCTIONS["sign"](x, dtype=float32)
    result: NkiTensor = FUNCTIONS["multiply"](_floor(size), sign, dtype=x.dtype if dtype is None else dtype)
    return result


def _turned(x: Any, shift: float) -> NkiTensor:
    """x + shift less whole turns: in [-pi, pi], where the table of sin is valid."""
    angle, turns, reduced = new(tile_of(x, "x"), float32), new(x, float32), new(x, float32)
    isa.tensor_scalar(dst=angle, data=x, op0=OPERATORS["add"], operand0=shift)
    isa.tensor_scalar(dst=turns, data=angle, op0=OPERATORS["multiply"], operand0=0.5 / math.pi)
    whole = _nearest(turns)
    for part, source in ((_TURN_HIGH, angle), (_TURN_LOW, reduced)):
        isa.scalar_tensor_tensor(
            dst=reduced,
            data=whole,
            op0=OPERATORS["multiply"],
            operand0=-part,
            op1=OPERATORS["add"],
            operand1=source,
        )
    isa.tensor_scalar(
        dst=reduced,
        data=reduced,
        op0=OPERATORS["minimum"],
        operand0=_PI,
        op1=OPERATORS["maximum"],
        operand1=-_PI,
    )
    return reduced


def _wave(shift: float) -> Callable[..., NkiTensor]:
    def function(x: Any, dtype: Any = None) -> NkiTensor:
        dst = new(tile_of(x, "x"), dtype)
        isa.activation(dst=dst, op=OPERATORS["sin"], data=_turned(x, shift))
        return dst

    return function


_sin, _cos = _wave(0.0), _wave(math.pi / 2.0)


def _tan(x: Any, dtype: Any = None) -> NkiTensor:
    slope = _reciprocal(_cos(x, float32))
    result: NkiTensor = FUNCTIONS["multiply"](_sin(x, float32), slope, dtype=x.dtype if dtype is None else dtype)
    return result


FUNCTIONS.update(
    {
        **{name: _binary(OPERATORS[name]) for name in _BINARY},
        **{name: _activation(OPERATORS[name]) for name in _ACTIVATIONS},
        "abs": _with_scalar("abs", None),
        "ceil": _stepped("less", "add"),
        "copy": _copy,
        "cos": _cos,
        "floor": _floor,
        "invert": _with_scalar("invert", None),
        "logical_not": _with_scalar("equal", 0.0),
        "negative": _with_scalar("multiply", -1.0),
        "reciprocal": _reciprocal,
        "rsqrt": _rsqrt,
        "sin": _sin,
        "tan": _tan,
        "trunc": _trunc,
    }
)
