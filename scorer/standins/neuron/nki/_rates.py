"""What Trn2 is documented to do in a cycle: the one table behind every estimate of this package.

Nothing here was measured. A figure is a published one, and says where:

    [arch]  Trainium2 Architecture Guide for NKI (nki/guides/architecture/trainium2_arch)
    [perf]  NKI Performance Guide (nki/deep-dives/nki_perf_guide)
    [dge]   Descriptor Generation Engine Reference (nki/deep-dives/nki-dge)
    [isa]   the instruction's own page (nki/api/generated/nki.isa.NAME)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

CLOCK = {"tensor": 2.4e9, "vector": 0.96e9, "scalar": 1.2e9, "gpsimd": 1.2e9, "sync": 1.2e9}
"""Cycles per second [arch]; Sync is not listed and only issues and waits."""

ENGINES = (*CLOCK, "dma")

LEAST_CYCLES = 64
"""What an instruction takes at least, however few elements a partition has [perf]."""

MATMUL_PASSES = {"float32": 4}
"""A product of fp32 is made of several passes: 20 against 79 TFLOPS [arch]; any other type takes one, fp8 in double_row
contracts twice as much in it.
"""
PEAK_OPERATIONS_PER_CYCLE = 2 * 128 * 128
"""Of the Tensor engine, in one pass over a full tile: 79 TFLOPS of bf16 [arch]."""
TRANSPOSE_PASSES = {"float32": 2}
"""Tensor engine, transpose mode: twice as fast as an fp32 product [arch]."""

DMA_BYTES_PER_SECOND = 368e9
"""All 16 queues of a core together [arch]."""
DMA_LEAST_BYTES = 2048
"""A descriptor of fewer contiguous bytes is taken to last as long as one of these [perf]."""
DMA_ISSUE_SECONDS = 600e-9 / 2
"""An instruction of hardware descriptors takes 600 ns, and a core has two such blocks [arch], [dge]."""
DMA_TRANSPOSE_SHARE = {"hbm": 0.9, "sbuf": 0.5}
"""Of the bandwidth, by where the source lies [arch]."""


class Cost(Enum):
    """How the cycles of an instruction follow from its operands."""

    ELEMENTS = "max(elements per partition, 64) per pass"
    MATMUL = "max(free elements of moving, 64) per pass"
    TRANSPOSE = "Tensor engine: max(partitions, 64) per pass; Vector engine: as ELEMENTS"
    DMA = "bytes, descriptors and instructions"
    LEAST = "64: registers, barriers, seeds"


@dataclass(frozen=True)
class Price:
    """Who runs an instruction if `engine=` does not say, and what it costs there."""

    engine: str
    cost: Cost = Cost.ELEMENTS
    fast: int = 1  # Vector engine's performance mode for bf16 and fp16 [arch]: 4 (and 2 in part), or 2
    passes: int = 1
    moves: bool = False  # computes nothing: no operations are counted


PRICES = {
    # Data movement
    "dma_copy": Price("dma", Cost.DMA, moves=True),
    "dma_compute": Price("dma", Cost.DMA),
    "dma_transpose": Price("dma", Cost.DMA, moves=True),
    "sendrecv": Price("dma", Cost.DMA, moves=True),
    "tensor_copy": Price("vector", fast=4, moves=True),
    "tensor_copy_predicated": Price("vector", moves=True),
    "memset": Price("vector", moves=True),
    "iota": Price("gpsimd", moves=True),
    "nc_stream_shuffle": Price("vector", moves=True),
    "local_gather": Price("gpsimd", moves=True),
    "nc_n_gather": Price("gpsimd", moves=True),
    "nonzero_with_count": Price("gpsimd"),
    "sequence_bounds": Price("gpsimd"),
    "core_barrier": Price("gpsimd", Cost.LEAST, moves=True),
    "register_alloc": Price("sync", Cost.LEAST, moves=True),
    "register_move": Price("sync", Cost.LEAST, moves=True),
    "register_load": Price("sync", Cost.LEAST, moves=True),
    "register_store": Price("sync", Cost.LEAST, moves=True),
    "scalar_load": Price("sync", Cost.LEAST, moves=True),
    "scalar_store": Price("sync", Cost.LEAST, moves=True),
    # Tensor engine
    "nc_matmul": Price("tensor", Cost.MATMUL),
    "nc_transpose": Price("tensor", Cost.TRANSPOSE, moves=True),
    # Scalar engine
    "activation": Price("scalar"),
    "activation_reduce": Price("scalar"),
    # Element by element
    "tensor_tensor": Price("vector", fast=2),
    "tensor_scalar": Price("vector", fast=4),
    "scalar_tensor_tensor": Price("vector"),
    "reciprocal": Price("vector", passes=8),  # [isa]: about 8 times an activation's
    "affine_select": Price("gpsimd"),
    "range_select": Price("vector"),
    "select_reduce": Price("vector"),
    "dropout": Price("vector"),
    "rng": Price("vector", moves=True),
    "set_rng_seed": Price("gpsimd", Cost.LEAST, moves=True),
    "rand_set_state": Price("gpsimd", Cost.LEAST, moves=True),
    "rand_get_state": Price("gpsimd", Cost.LEAST, moves=True),
    # Reductions, scans, search
    "tensor_reduce": Price("vector"),
    "tensor_partition_reduce": Price("gpsimd"),
    "tensor_scalar_reduce": Price("vector"),
    "tensor_scalar_cumulative": Price("vector"),
    "tensor_tensor_scan": Price("vector"),
    "bn_stats": Price("vector"),
    "bn_aggr": Price("vector"),
    "max8": Price("vector"),
    "nc_find_index8": Price("vector"),
    "nc_match_replace8": Price("vector"),
    "topk": Price("gpsimd"),
}
"""Every instruction of Trn2. One that is not here has no estimate, and a kernel that uses it none either."""

GPSIMD_OPERATORS = {"tensor_tensor": ("power",), "tensor_scalar": ("rsqrt",)}
"""Operators that send an instruction of the Vector engine to GpSimd [isa]; so do int32 and uint32 throughout."""
EXACT_INTEGERS = frozenset({"int32", "uint32"})
FAST_TYPES = frozenset({"bfloat16", "float16"})
