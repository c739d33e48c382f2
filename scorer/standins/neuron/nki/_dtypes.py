"""Element types of Trn2 and the conversions between them.

An element type is a NumPy dtype (bf16 and fp8 come from ml_dtypes), so `tensor.dtype` and `array.dtype` compare equal.
Conversions are those of the hardware: anything to fp32 on the way in, round-to-nearest-even to the destination on the
way out, float to integer saturating.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ._core import refuse_values, running
from ._errors import NkiValidationError, refuse
from ._rounding import stochastic_bfloat16
from ._versions import since

Array = NDArray[Any]
Dtype = np.dtype[Any]

float32 = np.dtype(np.float32)
bfloat16 = np.dtype(ml_dtypes.bfloat16)
float16 = np.dtype(np.float16)
float8_e4m3 = np.dtype(ml_dtypes.float8_e4m3)
float8_e4m3fn = np.dtype(ml_dtypes.float8_e4m3fn)
float8_e5m2 = np.dtype(ml_dtypes.float8_e5m2)
int8 = np.dtype(np.int8)
int16 = np.dtype(np.int16)
int32 = np.dtype(np.int32)
uint8 = np.dtype(np.uint8)
uint16 = np.dtype(np.uint16)
uint32 = np.dtype(np.uint32)
bool_ = np.dtype(np.bool_)
int64 = np.dtype(np.int64)
uint64 = np.dtype(np.uint64)

SUPPORTED = {
    "float32": float32,
    "bfloat16": bfloat16,
    "float16": float16,
    "float8_e4m3": float8_e4m3,
    "float8_e4m3fn": float8_e4m3fn,
    "float8_e5m2": float8_e5m2,
    "int8": int8,
    "int16": int16,
    "int32": int32,
    "uint8": uint8,
    "uint16": uint16,
    "uint32": uint32,
    "bool": bool_,
}
# NKI 0.7: only for one element, which scalar_load and scalar_store move.
SCALAR_ONLY = frozenset({int64, uint64})
FLOATS = frozenset({float32, bfloat16, float16, float8_e4m3, float8_e4m3fn, float8_e5m2})
INTEGERS = frozenset({int8, int16, int32, uint8, uint16, uint32})
_TYPES = frozenset(SUPPORTED.values())
FP8 = frozenset({float8_e4m3, float8_e4m3fn, float8_e5m2})


class AbsentType:
    """A name of an element type that tensors of Trn2 (or NumPy) cannot have; kernels may compare types with it."""

    def __init__(self, name: str, why: str) -> None:
        self.name = name
        self.why = why

    def __repr__(self) -> str:
        return f"nl.{self.name}"


# NKI_PRECISE_FP=0: memory of these types holds fp32. The type that it stands for is remembered with it.
WIDE = {
    dtype: np.dtype(np.float32, metadata={"stands_for": dtype})
    for dtype in (bfloat16, float8_e4m3, float8_e4m3fn, float8_e5m2)
}


def declared(stored: Dtype) -> Dtype:
    """The element type that memory of type `stored` stands for."""
    notes = stored.metadata
    return stored if notes is None else notes["stands_for"]


FP32_MIN = float(np.finfo(np.float32).min)
_EXACT_INTEGER = 2**24
_LARGEST = {float8_e4m3: 240.0, float8_e5m2: 57344.0}
_OVERFLOW = {float8_e4m3: 248.0, float8_e5m2: 61440.0}  # halfway to what the format would need next: RNE goes up
_POISON_INTEGER = 4
_POISONED_BYTES = 1 << 16


def as_dtype(value: Any, operand: str = "dtype") -> Dtype:
    """The element type that `value` names: an `nl` dtype, a tensor's dtype, a NumPy scalar type or dtype, or a name."""
    found: Dtype | None = None
    if isinstance(value, AbsentType):
        refuse(f"{value!r} {value.why}", operand)
    if isinstance(value, str):
        found = SUPPORTED.get(value)
    elif isinstance(value, (type, np.dtype)):
        found = np.dtype(value)
    if found is not None and found in _TYPES:
        return found
    raise NkiValidationError(
        f"{value!r} is no element type of Trn2; expected one of nl.{', nl.'.join(SUPPORTED)}", operand
    )


def poison(array: Array) -> None:
    """Fills new memory with NaN, or 4 where the type has none, so that a result that depends on it shows.

    Large memory is left as it is, since filling it takes as long as an instruction: that nothing is read before it is
    written is checked element by element anyway (`Storage.note_read`).
    """
    if array.nbytes > _POISONED_BYTES:
        return
    if array.dtype in FLOATS:
        array.fill(np.nan)
    elif array.dtype == bool_:
        array.fill(True)
    else:
        array.fill(_POISON_INTEGER)


def to_float32(array: Array, operand: str) -> NDArray[np.float32]:
    """The values as every engine sees them. No copy for fp32. 32-bit integers must survive the way through fp32."""
    dtype = array.dtype
    if dtype is float32:
        return array
    result: NDArray[np.float32] = array.astype(np.float32)
    if dtype in (int32, uint32) and (array.max() > _EXACT_INTEGER or array.min() < -_EXACT_INTEGER):
        changed = array[result.astype(np.float64) != array]
        if not changed.size:
            return result
        refuse_values(
            f"{dtype} value {changed.flat[0]} changes on its way through fp32, in which this instruction computes "
            f"(exact up to 2^24 = {_EXACT_INTEGER}); use bitvec operators or tensor_tensor on int32 operands",
            operand,
        )
    return result


def assign(target: Array, values: Array, nearest: bool = False) -> None:
    """Writes `values` (same shape) into `target`, rounded to its type; integers saturate, NaN becomes 0.

    To nearest even, always so if `nearest`; else bf16 stochastically if the launch asks for that.
    """
    dtype = target.dtype
    if dtype == values.dtype or values.dtype == bool_:
        target[...] = values
    elif dtype in INTEGERS:
        target[...] = saturate(values, dtype)
    else:
        if dtype in _OVERFLOW and np.any((np.abs(values) >= _OVERFLOW[dtype]) & np.isfinite(values)):
            refuse_values(
                f"value {_largest(values)} overflows {dtype} (largest finite value {_LARGEST[dtype]}) and would become "
                "inf; scale or clamp before the cast",
                "dst",
            )
        if dtype == bfloat16 and not nearest and values.dtype == float32:
            rounded = stochastic_bfloat16(values)
            values = values if rounded is None else rounded
        target[...] = values


def saturate(values: Array, dtype: Dtype) -> Array:
    """`values` rounded to nearest even, clamped to the range of the integer type `dtype`, NaN to 0."""
    limits = np.iinfo(dtype)
    if values.dtype.kind in "iu":
        wide = values.astype(np.int64)
        clamped = np.clip(wide, limits.min, limits.max)
        _refuse_clamped(wide, clamped, dtype)
        return clamped.astype(dtype)
    # fp32 cannot express the bounds of int32.
    exact = np.rint(values if dtype.itemsize < 4 else values.astype(np.float64))
    rounded = np.clip(exact, limits.min, limits.max)
    _refuse_clamped(exact, rounded, dtype)
    missing = np.isnan(rounded)
    if missing.any():
        rounded[missing] = 0.0
    result: Array = rounded.astype(dtype)
    return result


def _refuse_clamped(wanted: Array, clamped: Array, dtype: Dtype) -> None:
    """Refuses, for an NKI that is older than saturating conversions, values that they changed."""
    changed = wanted[(wanted != clamped) & (wanted == wanted)]
    core = running()
    if changed.size and not (core and core.launch.shapes_only):
        since("0.6", f"saturating {changed.flat[0]} in {dtype}", "clamp it before the conversion", "dst")


def _largest(values: Array) -> float:
    return float(values.flat[int(np.argmax(np.where(np.isfinite(values), np.abs(values), 0)))])
