"""nki.isa.dma_compute: `dst` = the sum of its sources in fp32, in their order, rounded once; rows by offsets are read,
added to and written back.
"""

from __future__ import annotations

from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import BF16, FP16, FP32, numbers, same_bits

I32, U8 = np.dtype(np.int32), np.dtype(np.uint8)


def loaded(array: Any) -> Any:
    made = nl.ndarray(array.shape, dtype=array.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=made, src=array)
    return made


def summed(parts: list[np.ndarray], dtype: Any, on_chip: bool) -> np.ndarray:
    """The sum by dma_compute, of tensors in SBUF or HBM, into the other of the two."""

    @nki.jit
    def kernel(*tensors: Any) -> Any:
        out = nl.ndarray(parts[0].shape, dtype=dtype, buffer=nl.shared_hbm)
        sources = [loaded(one) for one in tensors] if on_chip else list(tensors)
        target = out if on_chip else nl.ndarray(out.shape, dtype=dtype, buffer=nl.sbuf)
        nisa.dma_compute(dst=target, srcs=sources, reduce_op=nl.add)
        if not on_chip:
            nisa.dma_copy(dst=out, src=target)
        return out

    found: np.ndarray = kernel(*parts)
    return found


@pytest.mark.parametrize("on_chip", [True, False])
@pytest.mark.parametrize(
    ("types", "dtype"),
    [([FP32, FP32], FP32), ([BF16, BF16, BF16], BF16), ([FP32, BF16], FP16), ([I32, U8], I32), ([FP32] * 16, BF16)],
)
def test_sum(types: list[Any], dtype: Any, on_chip: bool) -> None:
    parts = [numbers(5, 7, seed=seed, low=0.0, high=90.0).astype(kind) for seed, kind in enumerate(types)]
    total = parts[0].astype(np.float32)
    for part in parts[1:]:
        total = total + part.astype(np.float32)
    found = summed(parts, dtype, on_chip)
    assert same_bits(found, total.astype(dtype))
    assert not same_bits(found, (total - parts[-1].astype(np.float32)).astype(dtype))


def test_the_sum_is_taken_in_fp32_not_in_the_sources_type() -> None:
    parts = [np.full((2, 2), value, BF16) for value in (256.0, 1.0, 1.0)]
    assert summed(parts, FP32, True).tolist() == [[258.0] * 2] * 2
    assert np.array_equal(np.asarray(parts[0] + parts[1] + parts[2], np.float32), np.full((2, 2), 256.0))


def test_views_and_shapes_of_equal_counts() -> None:
    x = numbers(4, 12)

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((8, 3), dtype=x.dtype, buffer=nl.shared_hbm)
        held = loaded(x)
        nisa.dma_compute(dst=out, srcs=[held[:, 0:6], x[:, 1:12:2]], reduce_op=nl.add, scales=(1.0, 1.0))
        return out

    assert same_bits(kernel(x), (x[:, :6] + x[:, 1::2]).reshape(8, 3))


def test_a_source_may_be_the_target() -> None:
    x, y = numbers(4, 6), numbers(4, 6, seed=1)

    @nki.jit
    def kernel(x: Any, y: Any) -> Any:
        total = loaded(x)
        for _ in range(3):
            nisa.dma_compute(dst=total, srcs=[total, y], reduce_op=nl.add)
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out, src=total)
        return out

    assert same_bits(kernel(x, y), ((x + y) + y) + y)


@pytest.mark.parametrize("dtype", [FP32, BF16])
def test_rows_are_added_where_the_offsets_say(dtype: Any) -> None:
    """Column by column of a wide table, so that the rows that are written do not follow each other."""
    table, x = numbers(50, 4, dtype=dtype), numbers(9, 2, dtype=dtype, seed=1)
    rows = np.random.default_rng(2).permutation(50)[:9].astype(np.uint32)[:, None]

    @nki.jit
    def kernel(table: Any, x: Any, rows: Any) -> Any:
        offsets, added = loaded(rows), loaded(x)
        view = table.ap([[4, 9], [3, 2]], vector_offset=offsets)
        nisa.dma_compute(dst=view, srcs=[view, added], reduce_op=nl.add)
        return table

    expected = table.copy()
    for row, more in zip(rows[:, 0], x, strict=True):
        for column, value in zip((0, 3), more, strict=True):
            expected[row, column] = dtype.type(np.float32(expected[row, column]) + np.float32(value))
    assert same_bits(kernel(table.copy(), x, rows), expected)
    assert not same_bits(expected, table)
