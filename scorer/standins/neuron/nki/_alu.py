"""Operators: the tokens `nl.add`, `nl.exp`, ... and what the engines compute for them.

One token may be an ALU operator (Vector and GpSimd), an activation function (Scalar), or both, as `nl.square` is. An
instruction asks the token for the role that it needs; a token without it is refused with the list of those that have
it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._core import refuse_values
from ._dtypes import Array, Dtype
from ._errors import refuse

Float = NDArray[Any]  # fp32; NumPy's stubs widen most fp32 expressions, so the type is not stated


@dataclass(frozen=True)
class Activation:
    """A function of the Scalar engine's table, and the closed range [low, high] in which the table is valid."""

    compute: Callable[..., Float]
    low: float | None = None
    high: float | None = None
    magnitude: bool = False  # the range is of |x|


@dataclass(frozen=True, eq=False)
class Operator:
    """A token of `nl`. Each role is None where the hardware does not offer the operator in it."""

    name: str
    binary: Any = None  # arithmetic on fp32: a NumPy ufunc of two arrays
    bitvec: Any = None  # on integers
    unary: Callable[[Float], Float] | None = None  # arithmetic on fp32, no second operand
    reduce: bool = False  # legal as a reduction
    activation: Activation | None = field(default=None, repr=False)
    trn3: bool = False  # as an ALU operator only from Trn3 on
    function: str = ""  # which function of tiles a call means, if not that of the name

    def __repr__(self) -> str:
        return f"nl.{self.name}"

    def __call__(self, *operands: Any, **options: Any) -> Any:
        """The function of that name: a new SBUF tile, made with instructions of `nki.isa`."""
        function = FUNCTIONS.get(self.function or self.name)
        if function is None:
            refuse(f"nl.{self.name} is a token for op=, no function")
        if "mask" in options:
            refuse("no function has a mask in NKI from 0.5 to 0.7: slice the operands", "mask")
        return function(*operands, **options)

    def reduce_pair(self, left: Array, right: Array) -> Array:
        """Combines two partial reductions."""
        result: Array = (self.binary if self.binary is not None else self.bitvec)(left, right)
        return result


_NO_DIVIDER = "passes the simulator and is rejected by the compiler for Trn2: "
# What to write instead of operators that have no role on Trn2.
REMEDIES = {
    "divide": _NO_DIVIDER + "multiply by the reciprocal",
    "fmod": _NO_DIVIDER + "subtract the multiple, from reciprocal, multiply and a cast to int32",
    "mod": _NO_DIVIDER + "subtract the multiple, from reciprocal, multiply and a cast to int32",
    "prelu": "takes its slope in activate2, which needs Trn3: combine relu(x) and relu(-x) with scalar_tensor_tensor",
}

# What calling an operator does, `nl.<operator>(x[, y])`: filled in by `_language_math`.
FUNCTIONS: dict[str, Callable[..., Any]] = {}


def _shift_right(values: Array, amount: Any, out: Array | None = None) -> Array:
    """Logical: zeros come in from the left, whatever the sign."""
    bits = np.dtype(f"u{values.itemsize}")
    shifted: Array = np.right_shift(_bits(values, bits), _bits(amount, bits)).view(values.dtype)
    return shifted


def _bits(values: Any, dtype: Dtype) -> Array:
    array = np.asarray(values)
    result: Array = array.astype(f"i{dtype.itemsize}").view(dtype) if array.dtype.kind == "i" else array.astype(dtype)
    return result


def _vectorize(function: Callable[[float], float]) -> Callable[[Float], Float]:
    element: Any = np.frompyfunc(function, 1, 1)

    def compute(x: Float) -> Float:
        result: Float = element(x.astype(np.float64)).astype(np.float32)
        return result

    return compute


_erf = _vectorize(math.erf)
_ROOT_HALF = np.float32(math.sqrt(0.5))
_NORMAL = np.float32(1.0 / math.sqrt(2.0 * math.pi))
_TANH_SCALE = np.float32(math.sqrt(2.0 / math.pi))
_TANH_CUBIC = np.float32(0.044715)
_SIGMOID_SCALE = np.float32(1.702)
_ONE = np.float32(1.0)
_HALF = np.float32(0.5)


def _sigmoid(x: Float) -> Float:
    result: Float = _ONE / (_ONE + np.exp(-x))
    return result


def _silu_dx(x: Float) -> Float:
    s = _sigmoid(x)
    result: Float = s * (_ONE + x * (_ONE - s))
    return result


def _gelu(x: Float) -> Float:
    result: Float = _HALF * x * (_ONE + _erf(x * _ROOT_HALF))
    return result


def _gelu_dx(x: Float) -> Float:
    result: Float = _HALF * (_ONE + _erf(x * _ROOT_HALF)) + x * _NORMAL * np.exp(-_HALF * x * x)
    return result


def _gelu_tanh(x: Float) -> Float:
    result: Float = _HALF * x * (_ONE + np.tanh(_TANH_SCALE * (x + _TANH_CUBIC * x * x * x)))
    return result


def _gelu_sigmoid(x: Float) -> Float:
    result: Float = x * _sigmoid(_SIGMOID_SCALE * x)
    return result


def _gelu_sigmoid_dx(x: Float) -> Float:
    s = _sigmoid(_SIGMOID_SCALE * x)
    return s + _SIGMOID_SCALE * x * s * (_ONE - s)


def _softplus(x: Float) -> Float:
    result: Float = np.logaddexp(x, np.float32(0.0))
    return result


def _mish(x: Float) -> Float:
    result: Float = x * np.tanh(_softplus(x))
    return result


def _erf_dx(x: Float) -> Float:
    result: Float = np.float32(2.0 / math.sqrt(math.pi)) * np.exp(-x * x)
    return result


def _relu(x: Float) -> Float:
    result: Float = np.maximum(x, np.float32(0.0))
    return result


def _rsqrt(x: Float) -> Float:
    result: Float = _ONE / np.sqrt(x)
    return result


def _copy(x: Float) -> Float:
    return x


def _arithmetic(name: str, ufunc: Any, reduce: bool = False) -> Operator:
    return Operator(name, binary=ufunc, reduce=reduce)


def _both(name: str, unary: Callable[[Float], Float], activation: Activation, trn3: bool = False) -> Operator:
    return Operator(name, unary=unary, activation=activation, trn3=trn3)


def _activation(name: str, compute: Callable[[Float], Float], *domain: Any) -> Operator:
    return Operator(name, activation=Activation(compute, *domain))


def _trn3(name: str) -> Operator:
    return Operator(name, trn3=True)


OPERATORS: dict[str, Operator] = {
    operator.name: operator
    for operator in (
        # ALU, arithmetic
        _arithmetic("add", np.add, reduce=True),
        _arithmetic("subtract", np.subtract, reduce=True),
        _arithmetic("multiply", np.multiply, reduce=True),
        _arithmetic("maximum", np.maximum, reduce=True),
        _arithmetic("minimum", np.minimum, reduce=True),
        _arithmetic("equal", np.equal),
        _arithmetic("not_equal", np.not_equal),
        _arithmetic("greater", np.greater),
        _arithmetic("greater_equal", np.greater_equal),
        _arithmetic("less", np.less),
        _arithmetic("less_equal", np.less_equal),
        _arithmetic("logical_and", np.logical_and, reduce=True),
        _arithmetic("logical_or", np.logical_or, reduce=True),
        _arithmetic("logical_xor", np.logical_xor, reduce=True),
        _arithmetic("power", np.power),
        # ALU, bitvec
        Operator("bitwise_and", bitvec=np.bitwise_and, reduce=True),
        Operator("bitwise_or", bitvec=np.bitwise_or, reduce=True),
        Operator("bitwise_xor", bitvec=np.bitwise_xor, reduce=True),
        Operator("left_shift", bitvec=np.left_shift),
        Operator("right_shift", bitvec=_shift_right),
        Operator("invert", bitvec=np.invert),
        # unary ALU, activation, or both (the table's valid range: nki.api.shared, section on activation functions)
        _both("abs", np.abs, Activation(np.abs)),
        _both("rsqrt", _rsqrt, Activation(_rsqrt, 2.0**-87, 2.0**97)),
        _both("reciprocal", np.reciprocal, Activation(np.reciprocal, 2.0**-42, 2.0**42, True)),
        _both("square", np.square, Activation(np.square), trn3=True),
        _both("relu", _relu, Activation(_relu), trn3=True),
        _activation("copy", _copy),
        _activation("sigmoid", _sigmoid),
        _activation("gelu", _gelu),
        _activation("gelu_dx", _gelu_dx),
        _activation("gelu_apprx_tanh", _gelu_tanh),
        _activation("gelu_apprx_sigmoid", _gelu_sigmoid),
        _activation("gelu_apprx_sigmoid_dx", _gelu_sigmoid_dx),
        _activation("silu", lambda x: x * _sigmoid(x)),
        _activation("silu_dx", _silu_dx),
        _activation("tanh", np.tanh),
        _activation("softplus", _softplus),
        _activation("mish", _mish),
        _activation("erf", _erf),
        _activation("erf_dx", _erf_dx),
        _activation("exp", np.exp),
        _activation("sign", np.sign),
        _activation("log", np.log, 2.0**-64, 2.0**64),
        _activation("sqrt", np.sqrt, 2.0**-116, 2.0**118),
        _activation("arctan", np.arctan, -math.pi / 2, math.pi / 2),
        _activation("sin", np.sin, -math.pi, math.pi),
        # not on Trn2
        _trn3("abs_max"),
        _trn3("abs_min"),
        # tokens without a role in the instructions above: the Trn2 compiler refuses the first three, the others belong
        # to single instructions
        Operator("divide"),
        Operator("fmod"),
        Operator("mod"),
        Operator("prelu"),
        Operator("average"),
        Operator("bypass"),
        Operator("logical_not"),
        Operator("negative"),
        Operator("floor"),
        Operator("ceil"),
        Operator("trunc"),
        Operator("cos"),
        Operator("tan"),
    )
}
ACTIVATIONS = tuple(name for name, operator in OPERATORS.items() if operator.activation is not None)
# NKI's short names: as op= the same operators, as functions the reductions over free axes.
MAX = replace(OPERATORS["maximum"], function="max")
MIN = replace(OPERATORS["minimum"], function="min")
COMPARISONS = tuple(OPERATORS[n] for n in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal"))


def operator_of(op: Any, operand: str) -> Operator:
    """`op` as a token; strings and NumPy functions are none."""
    if type(op) is not Operator:
        refuse(f"{op!r} is no operator; pass a token such as nl.add", operand)
    if op.trn3 and op.activation is None:
        refuse(f"{op!r} needs Trn3; the target is Trn2", operand)
    return op


def reduction(op: Any, operand: str = "reduce_op", allowed: tuple[str, ...] = ()) -> Operator:
    """`op` as a reduction, one of `allowed` if that is given."""
    found = operator_of(op, operand)
    if not found.reduce or (allowed and found.name not in allowed):
        legal = allowed or tuple(name for name, item in OPERATORS.items() if item.reduce)
        refuse(f"{found!r} is not legal as a reduction here; legal: nl.{', nl.'.join(legal)}", operand)
    return found


def activate(op: Operator, x: Float, out: Float | None = None) -> Float:
    """The activation function of `op` at `x` (fp32), written to `out` if the function can do that.

    Values outside the table's range, NaN included, are refused.
    """
    table = op.activation
    if table is None and op.name in REMEDIES:
        refuse(f"{op!r} {REMEDIES[op.name]}", "op")
    if table is None:
        refuse(f"{op!r} is no activation function; expected one of nl.{', nl.'.join(ACTIVATIONS)}", "op")
    if table.high is not None:
        _check_domain(op, table, np.abs(x) if table.magnitude else x)
    if out is not None and isinstance(table.compute, np.ufunc):
        result: Float = table.compute(x, out=out)
        return result
    return table.compute(x)


def _check_domain(op: Operator, table: Activation, x: Float) -> None:
    low, high = x.min(), x.max()
    if low >= table.low and high <= table.high:
        return
    found = "NaN" if np.isnan(low) else repr(float(low if low < table.low else high))
    what = "|data * scale + bias|" if table.magnitude else "data * scale + bias"
    refuse_values(
        f"{what} reaches {found}, outside [{table.low}, {table.high}] in which the table of {op!r} is valid", "data"
    )
