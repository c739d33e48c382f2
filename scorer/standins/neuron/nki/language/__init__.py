"""nki.language: tensors, element types, operators, loops, the program's place in its launch.

Operators are tokens for `op=` and functions of tiles at once. The functions that NKI calls experimental (load, store,
matmul, reductions, ...) are made of instructions of `nki.isa`; those that pass NKI's simulator and fail on Trn2 are
refused, with what to write instead.
"""

from __future__ import annotations

from typing import NoReturn

from .. import _tile_size as tile_size
from .._alu import MAX as _MAX
from .._alu import MIN as _MIN
from .._alu import OPERATORS as _OPERATORS
from .._dtypes import AbsentType as _AbsentType
from .._dtypes import (
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
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .._errors import AbsentNameError as _AbsentNameError
from .._grids import NkiBlockGrid, NkiGrid, NkiTileGrid, alloc_blocks, alloc_tiles, blocks, tiles
from .._language_move import all_ as all
from .._language_move import (
    broadcast_to,
    device_print,
    dropout,
    expand_dims,
    gather_flattened,
    load,
    load_transpose2d,
    matmul,
    mean,
    prod,
    rand,
    random_seed,
    rms_norm,
    softmax,
    store,
    transpose,
    var,
    where,
)
from .._language_move import sum_ as sum
from .._language_tensors import (
    affine_range,
    ds,
    empty_like,
    full,
    is_hbm,
    is_on_chip,
    is_psum,
    is_sbuf,
    ndarray,
    num_programs,
    ones,
    private_hbm,
    program_id,
    program_ndim,
    psum,
    sbuf,
    sequential_range,
    shared_constant,
    shared_hbm,
    shared_identity_matrix,
    static_range,
    zeros,
    zeros_like,
)
from .._loops import fori_loop, no_reorder, while_loop
from .._storage import Buffer as _Buffer
from .._tensor import NkiTensor

__all__ = [
    "MemoryRegion",
    "NKIObject",
    "NkiBlockGrid",
    "NkiGrid",
    "NkiTensor",
    "NkiTileGrid",
    "abs",
    "abs_max",
    "abs_min",
    "add",
    "affine_range",
    "all",
    "alloc_blocks",
    "alloc_tiles",
    "arctan",
    "average",
    "bfloat16",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "blocks",
    "bool_",
    "broadcast_to",
    "bypass",
    "ceil",
    "copy",
    "cos",
    "device_print",
    "divide",
    "dropout",
    "ds",
    "empty_like",
    "equal",
    "erf",
    "erf_dx",
    "exp",
    "expand_dims",
    "float4_e2m1fn_x4",
    "float8_e4m3",
    "float8_e4m3fn",
    "float8_e4m3fn_x4",
    "float8_e5m2",
    "float8_e5m2_x4",
    "float8_e8m0fnu",
    "float16",
    "float32",
    "floor",
    "fmod",
    "fori_loop",
    "full",
    "gather_flattened",
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
    "int64",
    "invert",
    "is_hbm",
    "is_on_chip",
    "is_psum",
    "is_sbuf",
    "left_shift",
    "less",
    "less_equal",
    "load",
    "load_transpose2d",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "mish",
    "mod",
    "multiply",
    "ndarray",
    "negative",
    "no_reorder",
    "not_equal",
    "num_programs",
    "ones",
    "power",
    "prelu",
    "private_hbm",
    "prod",
    "program_id",
    "program_ndim",
    "psum",
    "rand",
    "random_seed",
    "reciprocal",
    "relu",
    "right_shift",
    "rms_norm",
    "rsqrt",
    "sbuf",
    "sequential_range",
    "shared_constant",
    "shared_hbm",
    "shared_identity_matrix",
    "sigmoid",
    "sign",
    "silu",
    "silu_dx",
    "sin",
    "softmax",
    "softplus",
    "sqrt",
    "square",
    "static_range",
    "store",
    "subtract",
    "sum",
    "tan",
    "tanh",
    "tfloat32",
    "tile_size",
    "tiles",
    "transpose",
    "trunc",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "var",
    "where",
    "while_loop",
    "zeros",
    "zeros_like",
]

# The operators: tokens for op=, and functions of tiles. NKI's names shadow some of Python's own functions here.
add = _OPERATORS["add"]
subtract = _OPERATORS["subtract"]
multiply = _OPERATORS["multiply"]
max = _MAX
maximum = _OPERATORS["maximum"]
min = _MIN
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

# Names that a kernel may compare types with, and that no tensor can have here.
tfloat32 = _AbsentType("tfloat32", "has no NumPy counterpart; use nl.float32")
float8_e8m0fnu = _AbsentType("float8_e8m0fnu", "needs Trn3; the target is Trn2")
float8_e4m3fn_x4 = _AbsentType("float8_e4m3fn_x4", "needs Trn3; the target is Trn2")
float8_e5m2_x4 = _AbsentType("float8_e5m2_x4", "needs Trn3; the target is Trn2")
float4_e2m1fn_x4 = _AbsentType("float4_e2m1fn_x4", "needs Trn3; the target is Trn2")

hbm = private_hbm


MemoryRegion = _Buffer


class NKIObject:
    """Base class of a kernel's own classes."""


# Names that only one NKI version has, or none from 0.5 on, with what all of them have instead.
_NOT_PORTABLE = {
    "dynamic_range": ("gone in 0.7", "range, or nl.fori_loop (0.6 and later)"),
    "arange": ("gone before 0.5", "slices, nl.ds and ap"),
    "atomic_rmw": ("gone before 0.5", "nki.isa.dma_compute"),
    "loop_reduce": ("gone before 0.5", "nc_matmul with accumulate, or tensor_tensor"),
    "mgrid": ("gone before 0.5", "slices, nl.ds and ap"),
    "par_dim": ("gone before 0.5", "dimension 0, which is the partition dimension"),
    "spmd_dim": ("gone before 0.5", "kernel[2], nl.program_id"),
    "ts": ("gone before 0.5", "nl.ds(index * size, size)"),
}


def __getattr__(name: str) -> NoReturn:
    if name in _NOT_PORTABLE:
        when, instead = _NOT_PORTABLE[name]
        raise _AbsentNameError(f"nl.{name} is not in every NKI from 0.5 to 0.7 ({when}): use {instead}")
    raise AttributeError(f"nki.language.{name} is not in this stand-in for NKI", name=name, obj=None)
