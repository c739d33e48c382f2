"""nki.isa.nonzero_with_count: positions of non-zero elements on partitions 0, 16, ..., 112."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import FP32, Check, empty, numbers, on_chip, same_bits, tile, use

I32 = np.dtype(np.int32)


@pytest.mark.parametrize("dtype", [FP32, I32])
def test_positions_padding_and_count(dtype: Any) -> None:
    x = (numbers(33, 10) > 1.0).astype(dtype)
    x[16] = 0

    def body(out: Any, x: Any) -> None:
        nisa.memset(dst=out, value=-7)
        nisa.nonzero_with_count(dst=out, src=x, index_offset=100, padding_val=-2)

    (found,) = on_chip(body, x, outputs=[((33, 11), I32)])
    expected = np.full((33, 11), -7, np.int32)
    for row in (0, 16, 32):
        places = [100 + i for i in range(10) if x[row, i] != 0]
        expected[row] = [*places, *[-2] * (10 - len(places)), len(places)]
    assert same_bits(found, expected)
    assert found[0, 10] > 0
    assert found[16, 10] == 0


def test_the_documented_example() -> None:
    x = np.array([[0, 1, 1, 0, 0, 1, 0, 0]], np.float32)
    (found,) = on_chip(
        lambda out, x: nisa.nonzero_with_count(dst=out, src=x, index_offset=16), x, outputs=[((1, 9), I32)]
    )
    assert found.tolist() == [[17, 18, 21, -1, -1, -1, -1, -1, 3]]


def count(**more: Any) -> None:
    nisa.nonzero_with_count(**{"dst": empty(4, 7, dtype=nl.int32), "src": tile(4, 6), **more})


def read_row(row: int) -> None:
    made = empty(33, 7, dtype=nl.int32)
    count(dst=made, src=tile(33, 6))
    use(made[row : row + 1])


CHECKS = {
    "dst type": Check(lambda: count(dst=empty(4, 7)), "expected int32", count),
    "src type": Check(lambda: count(src=tile(4, 6, dtype=nl.bfloat16)), "expected float32 or int32", count),
    "dst size": Check(lambda: count(dst=empty(4, 6, dtype=nl.int32)), "needs 4 x 7", count),
    "PSUM": Check(lambda: count(src=tile(4, 6, buffer=nl.psum)), "GpSimd engine cannot reach", count),
    "padding": Check(lambda: count(padding_val=0.5), "expected an int32", lambda: count(padding_val=0)),
    "partition without data": Check(lambda: one_partition(32), "uninitialised read", lambda: one_partition(0)),
    "no data at all": Check(lambda: count(src=empty(4, 6)), "none of partitions 0, 16, 32", count),
    "partition that is not written": Check(lambda: use(written()[0:2]), "uninitialised read", lambda: read_row(32)),
}


def one_partition(row: int) -> None:
    """Only partition 0 holds data; what the instruction makes of the others is garbage."""
    made, source = empty(33, 7, dtype=nl.int32), empty(33, 6)
    nisa.memset(dst=source[0:1], value=1.0)
    count(dst=made, src=source)
    use(made[row : row + 1])


def written() -> Any:
    made = empty(33, 7, dtype=nl.int32)
    count(dst=made, src=tile(33, 6))
    return made


@pytest.mark.parametrize("name", CHECKS)
def test_refusals(name: str) -> None:
    CHECKS[name].hold()
