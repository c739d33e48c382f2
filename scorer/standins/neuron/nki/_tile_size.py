"""nl.tile_size: the limits of Trn2."""

from __future__ import annotations

from typing import Any

from ._core import PARTITIONS, PSUM_BANK_BYTES, SBUF_PARTITION_BYTES
from ._core import psum_banks as _psum_banks

pmax = PARTITIONS
psum_bank_fmax = PSUM_BANK_BYTES // 4
psum_bank_fmax_bytes = PSUM_BANK_BYTES
psum_fmax = PSUM_BANK_BYTES // 4
psum_min_align = 4
sbuf_min_align = 1
gemm_stationary_fmax = 128
gemm_moving_fmax = 512
bn_stats_fmax = 512
sbuf_fmax = SBUF_PARTITION_BYTES // 4
sbuf_fmax_bytes = SBUF_PARTITION_BYTES
total_available_sbuf_size = SBUF_PARTITION_BYTES
sbuf_size_bytes = PARTITIONS * SBUF_PARTITION_BYTES


def __getattr__(name: str) -> Any:
    if name == "psum_num_banks":
        return _psum_banks()
    raise AttributeError(f"nl.tile_size has no {name}", name=name, obj=None)
