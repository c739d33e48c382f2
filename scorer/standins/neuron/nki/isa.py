"""nki.isa: the instructions of a NeuronCore.

One module per group: `_isa_dma` (DMA), `_isa_data` (copies on chip, constants), `_isa_tensor` (Tensor engine),
`_isa_scalar` (Scalar engine), `_isa_vector` (element-wise), `_isa_reduce`, `_isa_select`. Every instruction computes in
fp32, rounds once to the type of `dst`, and takes a trailing `name`, which is a label only.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ._enums import dge_mode, dma_engine, engine, matmul_perf_mode, nc_version, oob_mode, reduce_cmd
from ._errors import NkiValidationError, refuse
from ._isa_data import iota, memset, tensor_copy, tensor_copy_predicated
from ._isa_dma import dma_compute, dma_copy, dma_transpose
from ._isa_reduce import bn_aggr, bn_stats, tensor_reduce, tensor_scalar_reduce, tensor_tensor_scan
from ._isa_scalar import activation, activation_reduce
from ._isa_select import affine_select, range_select, select_reduce
from ._isa_tensor import nc_matmul, nc_transpose
from ._isa_vector import reciprocal, scalar_tensor_tensor, tensor_scalar, tensor_tensor

__all__ = [
    "NkiValidationError",
    "activate2",
    "activation",
    "activation_reduce",
    "affine_select",
    "bn_aggr",
    "bn_stats",
    "dge_mode",
    "dma_compute",
    "dma_copy",
    "dma_engine",
    "dma_transpose",
    "engine",
    "exponential",
    "get_nc_version",
    "iota",
    "matmul_perf_mode",
    "memset",
    "nc_matmul",
    "nc_matmul_mx",
    "nc_transpose",
    "nc_version",
    "oob_mode",
    "quantize_mx",
    "rand2",
    "range_select",
    "reciprocal",
    "reduce_cmd",
    "scalar_tensor_tensor",
    "select_reduce",
    "tensor_copy",
    "tensor_copy_predicated",
    "tensor_reduce",
    "tensor_scalar",
    "tensor_scalar_reduce",
    "tensor_tensor",
    "tensor_tensor_scan",
]


def get_nc_version() -> nc_version:
    """The generation that the stand-in enforces: gen3, Trn2."""
    return nc_version.gen3


def exponential(*_: Any, **__: Any) -> NoReturn:
    """Trn3 only."""
    refuse("needs Trn3; the target is Trn2: use activation(op=nl.exp)")


def activate2(*_: Any, **__: Any) -> NoReturn:
    """Trn3 only."""
    refuse("needs Trn3; the target is Trn2: use activation")


def nc_matmul_mx(*_: Any, **__: Any) -> NoReturn:
    """Trn3 only."""
    refuse("needs Trn3; the target is Trn2: use nc_matmul, fp8 with perf_mode=double_row")


def quantize_mx(*_: Any, **__: Any) -> NoReturn:
    """Trn3 only."""
    refuse("needs Trn3; the target is Trn2: scale and cast with tensor_scalar into float8_e4m3")


def rand2(*_: Any, **__: Any) -> NoReturn:
    """Trn3 only."""
    refuse("needs Trn3; the target is Trn2")


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(
        f"nki.isa.{name} is not in this stand-in for NKI; it has {', '.join(__all__)}", name=name, obj=None
    )
