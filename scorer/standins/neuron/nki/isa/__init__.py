"""nki.isa: the instructions of a NeuronCore.

One module per group: `_isa_dma` (DMA), `_isa_data` (copies on chip, constants), `_isa_tensor` (Tensor engine),
`_isa_scalar` (Scalar engine), `_isa_vector` (element-wise), `_isa_reduce`, `_isa_scan`, `_isa_select`, `_isa_gather`,
`_isa_search`, `_isa_random`, `_registers`, `_isa_cores` (LNC 2). Every instruction computes in fp32, rounds once to the
type of `dst`, and takes a trailing `name`, which is a label only.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .._enums import dge_mode, dma_engine, engine, matmul_perf_mode, nc_version, oob_mode, reduce_cmd
from .._errors import AbsentNameError, NkiValidationError, refuse
from .._isa_cores import core_barrier, sendrecv
from .._isa_data import iota, memset, tensor_copy, tensor_copy_predicated
from .._isa_dma import dma_compute, dma_copy, dma_transpose
from .._isa_gather import local_gather, nc_n_gather, nc_stream_shuffle, nonzero_with_count, sequence_bounds
from .._isa_random import dropout, rand_get_state, rand_set_state, rng, set_rng_seed
from .._isa_reduce import bn_aggr, bn_stats, tensor_partition_reduce, tensor_reduce, tensor_scalar_reduce
from .._isa_scalar import activation, activation_reduce
from .._isa_scan import tensor_scalar_cumulative, tensor_tensor_scan
from .._isa_search import max8, nc_find_index8, nc_match_replace8, topk
from .._isa_select import affine_select, range_select, select_reduce
from .._isa_tensor import nc_matmul, nc_transpose
from .._isa_vector import reciprocal, scalar_tensor_tensor, tensor_scalar, tensor_tensor
from .._registers import (
    NkiScalar,
    VirtualRegister,
    register_alloc,
    register_load,
    register_move,
    register_store,
    scalar_load,
    scalar_store,
)

__all__ = [
    "NkiScalar",
    "NkiValidationError",
    "VirtualRegister",
    "activate2",
    "activation",
    "activation_reduce",
    "affine_select",
    "bn_aggr",
    "bn_stats",
    "core_barrier",
    "dge_mode",
    "dma_compute",
    "dma_copy",
    "dma_engine",
    "dma_transpose",
    "dropout",
    "engine",
    "exponential",
    "get_nc_sub_version",
    "get_nc_version",
    "gpsimd_engine",
    "iota",
    "local_gather",
    "matmul_perf_mode",
    "max8",
    "memset",
    "nc_find_index8",
    "nc_match_replace8",
    "nc_matmul",
    "nc_matmul_mx",
    "nc_n_gather",
    "nc_stream_shuffle",
    "nc_transpose",
    "nc_version",
    "nonzero_with_count",
    "oob_mode",
    "quantize_mx",
    "rand2",
    "rand_get_state",
    "rand_set_state",
    "range_select",
    "reciprocal",
    "reduce_cmd",
    "register_alloc",
    "register_load",
    "register_move",
    "register_store",
    "rng",
    "scalar_engine",
    "scalar_load",
    "scalar_store",
    "scalar_tensor_tensor",
    "select_reduce",
    "sendrecv",
    "sequence_bounds",
    "set_rng_seed",
    "tensor_copy",
    "tensor_copy_predicated",
    "tensor_engine",
    "tensor_partition_reduce",
    "tensor_reduce",
    "tensor_scalar",
    "tensor_scalar_cumulative",
    "tensor_scalar_reduce",
    "tensor_tensor",
    "tensor_tensor_scan",
    "topk",
    "unknown_engine",
    "vector_engine",
]

tensor_engine = engine.tensor
vector_engine = engine.vector
scalar_engine = engine.scalar
gpsimd_engine = engine.gpsimd
unknown_engine = engine.unknown

# Gone, with what replaces them.
_REMOVED = {
    "tensor_copy_dynamic_src": "tensor_copy of a view made by ap(scalar_offset=) or select",
    "tensor_copy_dynamic_dst": "tensor_copy to a view made by ap(scalar_offset=) or select",
    "tensor_scan": "tensor_tensor_scan",
    "dma_copy_indirect": "dma_copy of a view made by ap(vector_offset=)",
}


def get_nc_version() -> nc_version:
    """The generation that the stand-in enforces: gen3, Trn2."""
    return nc_version.gen3


def get_nc_sub_version() -> int:
    """The variant within the generation: 0."""
    return 0


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
    refuse("needs Trn3; the target is Trn2: use rng and scale")


def __getattr__(name: str) -> NoReturn:
    if name in _REMOVED:
        raise AbsentNameError(f"nki.isa.{name} was removed before NKI 0.5: use {_REMOVED[name]}")
    raise AttributeError(
        f"nki.isa.{name} is not in this stand-in for NKI; it has {', '.join(__all__)}", name=name, obj=None
    )
