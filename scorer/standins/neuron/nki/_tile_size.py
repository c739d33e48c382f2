"""nl.tile_size: the limits of Trn2."""

from __future__ import annotations

from ._core import PARTITIONS, PSUM_BANK_BYTES, PSUM_BANKS, SBUF_PARTITION_BYTES

pmax = PARTITIONS
psum_bank_fmax = PSUM_BANK_BYTES // 4
psum_bank_fmax_bytes = PSUM_BANK_BYTES
psum_fmax = PSUM_BANK_BYTES // 4
psum_num_banks = PSUM_BANKS
psum_min_align = 4
sbuf_min_align = 1
gemm_stationary_fmax = 128
gemm_moving_fmax = 512
bn_stats_fmax = 512
sbuf_fmax = SBUF_PARTITION_BYTES // 4
sbuf_fmax_bytes = SBUF_PARTITION_BYTES
total_available_sbuf_size = SBUF_PARTITION_BYTES
sbuf_size_bytes = PARTITIONS * SBUF_PARTITION_BYTES
