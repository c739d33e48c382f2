"""nki.isa.local_gather: each group of 16 partitions gathers by its own indices."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import BF16, FP32, Check, empty, numbers, on_chip, same_bits, tile

U16 = nl.uint16


@pytest.mark.parametrize(("partitions", "unit", "valid", "dtype"), [(128, 4, 64, FP32), (32, 1, 37, BF16)])
def test_gathers_by_the_indices_of_the_group(partitions: int, unit: int, valid: int, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x = numbers(partitions, 50, unit, dtype=dtype)
    units = rng.integers(0, 50, (partitions, 4)).astype(np.uint16)

    def body(out: Any, x: Any, index: Any) -> None:
        nisa.local_gather(dst=out, src_buffer=x, index=index, num_elem_per_idx=unit, num_valid_indices=valid)

    (found,) = on_chip(body, x, units * np.uint16(unit), outputs=[((partitions, valid, unit), dtype)])
    expected = np.empty((partitions, valid, unit), dtype)
    for start in range(0, partitions, 16):
        flat = units[start : start + 16].flatten(order="F")[:valid]
        expected[start : start + 16] = np.take(x[start : start + 16], flat, axis=1)
    assert same_bits(found, expected)
    assert not same_bits(found, np.take(x, units[0:16].flatten(order="C")[:valid], axis=1))


def gather(**more: Any) -> None:
    nisa.local_gather(
        **{"dst": empty(16, 32), "src_buffer": tile(16, 8), "index": tile(16, 2, dtype=U16, value=7), **more}
    )


CHECKS = {
    "index type": Check(lambda: gather(index=tile(16, 2, dtype=nl.int32)), "expected uint16", gather),
    "partitions": Check(
        lambda: gather(dst=empty(8, 32), src_buffer=tile(8, 8), index=tile(8, 2, dtype=U16)), "a multiple of 16", gather
    ),
    "unit": Check(
        lambda: gather(num_elem_per_idx=3),
        "expected one of (1, 2, 4, 8, 16, 32)",
        lambda: gather(dst=empty(16, 64), num_elem_per_idx=2, index=tile(16, 2, dtype=U16, value=6)),
    ),
    "index out of range": Check(
        lambda: gather(index=tile(16, 2, dtype=U16, value=8)), "index 8 reaches beyond the 8 elements", gather
    ),
    "unit out of range": Check(
        lambda: gather(dst=empty(16, 64), num_elem_per_idx=2), "reaches beyond", lambda: gather(num_elem_per_idx=1)
    ),
    "more indices than there are": Check(
        lambda: gather(num_valid_indices=33), "holds 32", lambda: gather(num_valid_indices=32)
    ),
    "more than 4096 indices": Check(
        lambda: gather(dst=empty(16, 4112), index=tile(16, 257, dtype=U16)),
        "the limit is 4096",
        lambda: gather(dst=empty(16, 4096), index=tile(16, 256, dtype=U16)),
    ),
    "dst size": Check(lambda: gather(dst=empty(16, 31)), "32 indices x 1 elements", gather),
    "dst type": Check(lambda: gather(dst=empty(16, 32, dtype=nl.bfloat16)), "does not convert", gather),
    "PSUM": Check(lambda: gather(dst=empty(16, 32, buffer=nl.psum)), "GpSimd engine cannot reach", gather),
}


@pytest.mark.parametrize("name", CHECKS)
def test_refusals(name: str) -> None:
    CHECKS[name].hold()
