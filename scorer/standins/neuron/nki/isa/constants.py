"""nki.isa.constants: the enumerations of `nki.isa`, under the name by which libraries of kernels import them."""

from __future__ import annotations

from .._enums import dge_mode, dma_engine, engine, matmul_perf_mode, nc_version, oob_mode, reduce_cmd

__all__ = ["dge_mode", "dma_engine", "engine", "matmul_perf_mode", "nc_version", "oob_mode", "reduce_cmd"]
