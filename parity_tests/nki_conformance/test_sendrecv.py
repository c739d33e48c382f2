"""nki.isa.sendrecv and core_barrier: what each core of LNC 2 has afterwards."""

from __future__ import annotations

from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import BF16, FP8, FP16, FP32, numbers, same_bits


@pytest.mark.parametrize("by", list(nisa.dma_engine))
@pytest.mark.parametrize("dtype", [FP32, BF16, FP16, FP8, np.dtype(np.int32), np.dtype(np.uint8)])
def test_each_core_gets_the_others_tile(dtype: Any, by: Any) -> None:
    """Into a part of a larger tile, bit for bit; what it sent stays."""
    x = numbers(2, 16, 20, low=0.0, high=9.0).astype(dtype)

    @nki.jit
    def kernel(x: Any) -> Any:
        core = nl.program_id(0)
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        held = nl.ndarray((16, 20), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=held, src=x[core])
        nisa.sendrecv(
            src=held[:, 0:8],
            dst=held[:, 12:20],
            send_to_rank=1 - core,
            recv_from_rank=1 - core,
            pipe_id=3,
            dma_engine=by,
        )
        nisa.dma_copy(dst=out[core], src=held)
        return out

    expected = x.copy()
    expected[:, :, 12:] = x[::-1, :, :8]
    found = kernel[2](x)
    assert same_bits(found, expected)
    assert not same_bits(found, x)


def test_barriers_order_a_scan_over_both_cores() -> None:
    """Each step reads what the other core wrote in the step before."""
    x = numbers(2, 4, 8)

    @nki.jit
    def kernel(x: Any) -> Any:
        core = nl.program_id(0)
        out = nl.ndarray((2, 5, 4, 8), dtype=x.dtype, buffer=nl.shared_hbm)
        mine, theirs = (nl.ndarray((4, 8), dtype=x.dtype, buffer=nl.sbuf) for _ in "ab")
        nisa.dma_copy(dst=mine, src=x[core])
        for step in range(5):
            nisa.dma_copy(dst=out[core, step], src=mine)
            nisa.core_barrier(data=out, cores=(0, 1))
            nisa.dma_copy(dst=theirs, src=out[1 - core, step])
            nisa.tensor_tensor(dst=mine, data1=mine, data2=theirs, op=(nl.add, nl.subtract)[core])
        return out

    first, second = x
    expected = np.empty((2, 5, 4, 8), np.float32)
    for step in range(5):
        expected[:, step] = first, second
        first, second = first + second, second - first
    assert same_bits(kernel[2](x), expected)
