"""nki.language: tensors, element types, operators, the program's place in its launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from . import _tile_size as tile_size
from ._alu import OPERATORS as _OPERATORS
from ._core import PARTITIONS as _PARTITIONS
from ._core import current as _current
from ._dtypes import (
    as_dtype,
    assign,
    bfloat16,
    bool_,
    float8_e4m3,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    int8,
    int16,
    int32,
    uint8,
    uint16,
    uint32,
)
from ._errors import refuse as _refuse
from ._storage import Buffer as _Buffer
from ._storage import allocate as _allocate
from ._tensor import NkiTensor

__all__ = [
    "NkiTensor",
    "abs",
    "abs_max",
    "abs_min",
    "add",
    "affine_range",
    "arctan",
    "average",
    "bfloat16",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bool_",
    "bypass",
    "ceil",
    "copy",
    "cos",
    "divide",
    "ds",
    "empty_like",
    "equal",
    "erf",
    "erf_dx",
    "exp",
    "float8_e4m3",
    "float8_e4m3fn",
    "float8_e5m2",
    "float16",
    "float32",
    "floor",
    "fmod",
    "full",
    "gelu",
    "gelu_apprx_sigmoid",
    "gelu_apprx_sigmoid_dx",
    "gelu_apprx_tanh",
    "gelu_dx",
    "greater",
    "greater_equal",
    "hbm",
    "int8",
    "int16",
    "int32",
    "invert",
    "is_hbm",
    "is_on_chip",
    "is_psum",
    "is_sbuf",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mish",
    "mod",
    "multiply",
    "ndarray",
    "negative",
    "not_equal",
    "num_programs",
    "ones",
    "power",
    "prelu",
    "private_hbm",
    "program_id",
    "program_ndim",
    "psum",
    "reciprocal",
    "relu",
    "right_shift",
    "rsqrt",
    "sbuf",
    "sequential_range",
    "shared_hbm",
    "sigmoid",
    "sign",
    "silu",
    "silu_dx",
    "sin",
    "softplus",
    "sqrt",
    "square",
    "static_range",
    "subtract",
    "tan",
    "tanh",
    "tile_size",
    "trunc",
    "uint8",
    "uint16",
    "uint32",
    "zeros",
    "zeros_like",
]

sbuf = _Buffer.sbuf
psum = _Buffer.psum
private_hbm = _Buffer.private_hbm
hbm = private_hbm
shared_hbm = _Buffer.shared_hbm

_MAX_DIMENSIONS = 5


def ndarray(
    shape: Sequence[int], dtype: Any, buffer: Any = sbuf, name: str = "", address: tuple[int, int] | None = None
) -> NkiTensor:
    """A new tensor whose contents are undefined: reading an element before it is written is an error.

    On chip at least two dimensions, the first one (partitions) at most 128. Kernel results need `buffer=nl.shared_hbm`.
    """
    if address is not None:
        _refuse(
            "manual placement is not in the stand-in (the unit of the address is not documented); leave it out",
            "address",
        )
    core = _current()
    sizes = tuple(map(int, shape))
    if not sizes or min(sizes) < 1 or len(sizes) > _MAX_DIMENSIONS:
        _refuse(f"{sizes}: 1 to {_MAX_DIMENSIONS} dimensions, none of size 0, expected", "shape")
    if type(buffer) is not _Buffer:
        _refuse(f"{buffer!r} is no buffer; expected nl.sbuf, nl.psum, nl.private_hbm or nl.shared_hbm", "buffer")
    if (buffer is sbuf or buffer is psum) and (len(sizes) < 2 or sizes[0] > _PARTITIONS):
        if len(sizes) < 2:
            _refuse(f"{sizes}: an on-chip tensor has a partition dimension and at least one free dimension", "shape")
        _refuse(
            f"{sizes}: Size of partition dimension {sizes[0]} exceeds architecture limitation of {_PARTITIONS}", "shape"
        )
    storage = _allocate(core, sizes, as_dtype(dtype), buffer, name)
    return NkiTensor(storage, storage.array, 0)


def zeros(shape: Sequence[int], dtype: Any, buffer: Any = sbuf, name: str = "") -> NkiTensor:
    """A new tensor of zeros."""
    return full(shape, 0, dtype, buffer, name)


def ones(shape: Sequence[int], dtype: Any, buffer: Any = sbuf, name: str = "") -> NkiTensor:
    """A new tensor of ones."""
    return full(shape, 1, dtype, buffer, name)


def full(shape: Sequence[int], fill_value: Any, dtype: Any, buffer: Any = sbuf, name: str = "") -> NkiTensor:
    """A new tensor with every element `fill_value`, converted to `dtype`."""
    tensor = ndarray(shape, dtype, buffer, name)
    assign(tensor._array, np.full(tensor.shape, fill_value, np.float32 if isinstance(fill_value, float) else np.int64))
    tensor._storage.note_write(tensor)
    return tensor


def zeros_like(x: NkiTensor, dtype: Any = None, buffer: Any = None, name: str = "") -> NkiTensor:
    """A new tensor of zeros with the shape, type and buffer of `x` unless given."""
    return zeros(x.shape, x.dtype if dtype is None else dtype, x.buffer if buffer is None else buffer, name)


def empty_like(x: NkiTensor, dtype: Any = None, buffer: Any = None, name: str = "") -> NkiTensor:
    """A new undefined tensor with the shape, type and buffer of `x` unless given."""
    return ndarray(x.shape, x.dtype if dtype is None else dtype, x.buffer if buffer is None else buffer, name)


def ds(start: int, size: int) -> slice:
    """The slice of `size` elements from `start`."""
    return slice(start, start + size)


def is_hbm(buffer: Any) -> bool:
    """Whether the buffer is HBM, private or shared."""
    return buffer is private_hbm or buffer is shared_hbm


def is_on_chip(buffer: Any) -> bool:
    """Whether the buffer is SBUF or PSUM."""
    return buffer is sbuf or buffer is psum


def is_psum(buffer: Any) -> bool:
    """Whether the buffer is PSUM."""
    return buffer is psum


def is_sbuf(buffer: Any) -> bool:
    """Whether the buffer is SBUF."""
    return buffer is sbuf


# All three are the same since NKI 0.3: the loop is unrolled.
affine_range = sequential_range = static_range = range


def program_id(axis: int = 0) -> int:
    """Which core of the launch runs this, from 0."""
    _only_axis(axis)
    return _current().index


def num_programs(axes: int = 0) -> int:
    """How many cores run the kernel: 1 or 2."""
    _only_axis(axes)
    return _current().launch.cores


def program_ndim() -> int:
    """Dimensions of the launch grid: 1 under `kernel[n]`."""
    _current()
    return 1


def _only_axis(axis: int) -> None:
    if axis != 0:
        _refuse(f"{axis}; the launch grid has one axis, 0", "axis")


# The operators, as tokens for op=. NKI's names shadow some of Python's own functions here.
add = _OPERATORS["add"]
subtract = _OPERATORS["subtract"]
multiply = _OPERATORS["multiply"]
maximum = _OPERATORS["maximum"]
minimum = _OPERATORS["minimum"]
equal = _OPERATORS["equal"]
not_equal = _OPERATORS["not_equal"]
greater = _OPERATORS["greater"]
greater_equal = _OPERATORS["greater_equal"]
less = _OPERATORS["less"]
less_equal = _OPERATORS["less_equal"]
logical_and = _OPERATORS["logical_and"]
logical_or = _OPERATORS["logical_or"]
logical_xor = _OPERATORS["logical_xor"]
power = _OPERATORS["power"]
bitwise_and = _OPERATORS["bitwise_and"]
bitwise_or = _OPERATORS["bitwise_or"]
bitwise_xor = _OPERATORS["bitwise_xor"]
left_shift = _OPERATORS["left_shift"]
right_shift = _OPERATORS["right_shift"]
invert = _OPERATORS["invert"]
abs = _OPERATORS["abs"]
rsqrt = _OPERATORS["rsqrt"]
reciprocal = _OPERATORS["reciprocal"]
square = _OPERATORS["square"]
relu = _OPERATORS["relu"]
copy = _OPERATORS["copy"]
sigmoid = _OPERATORS["sigmoid"]
gelu = _OPERATORS["gelu"]
gelu_dx = _OPERATORS["gelu_dx"]
gelu_apprx_tanh = _OPERATORS["gelu_apprx_tanh"]
gelu_apprx_sigmoid = _OPERATORS["gelu_apprx_sigmoid"]
gelu_apprx_sigmoid_dx = _OPERATORS["gelu_apprx_sigmoid_dx"]
silu = _OPERATORS["silu"]
silu_dx = _OPERATORS["silu_dx"]
tanh = _OPERATORS["tanh"]
softplus = _OPERATORS["softplus"]
mish = _OPERATORS["mish"]
erf = _OPERATORS["erf"]
erf_dx = _OPERATORS["erf_dx"]
exp = _OPERATORS["exp"]
sign = _OPERATORS["sign"]
log = _OPERATORS["log"]
sqrt = _OPERATORS["sqrt"]
arctan = _OPERATORS["arctan"]
sin = _OPERATORS["sin"]
abs_max = _OPERATORS["abs_max"]
abs_min = _OPERATORS["abs_min"]
divide = _OPERATORS["divide"]
fmod = _OPERATORS["fmod"]
mod = _OPERATORS["mod"]
prelu = _OPERATORS["prelu"]
average = _OPERATORS["average"]
bypass = _OPERATORS["bypass"]
logical_not = _OPERATORS["logical_not"]
negative = _OPERATORS["negative"]
floor = _OPERATORS["floor"]
ceil = _OPERATORS["ceil"]
trunc = _OPERATORS["trunc"]
cos = _OPERATORS["cos"]
tan = _OPERATORS["tan"]

_TRN3_TYPES = ("float8_e8m0fnu", "float8_e4m3fn_x4", "float8_e5m2_x4", "float4_e2m1fn_x4")


def __getattr__(name: str) -> NoReturn:
    if name in _TRN3_TYPES:
        _refuse(f"nl.{name} needs Trn3; the target is Trn2")
    raise AttributeError(f"nki.language.{name} is not in this stand-in for NKI", name=name, obj=None)
