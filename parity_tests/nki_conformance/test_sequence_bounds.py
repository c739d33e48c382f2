"""nki.isa.sequence_bounds: where the segment of each element starts and ends."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import FP32, Check, empty, on_chip, same_bits, tile

I32 = np.dtype(np.int32)


def bounds(ids: list[int]) -> np.ndarray:
    n = len(ids)
    result = np.zeros((1, 2, n), np.int64)
    for i, value in enumerate(ids):
        start = end = i
        while start > 0 and ids[start - 1] == value:
            start -= 1
        while end < n and ids[end] == value:
            end += 1
        result[0, :, i] = (n, -1) if value == 0 else (start, end)
    return result


@pytest.mark.parametrize("dtype", [FP32, I32])
@pytest.mark.parametrize("ids", [[0, 1, 1, 2, 2, 2, 0], [5], [0, 0], [3, 3, 1, 0, 0, 1, 1]])
def test_starts_and_ends(ids: list[int], dtype: Any) -> None:
    x = np.array([ids], dtype)
    (found,) = on_chip(
        lambda out, x: nisa.sequence_bounds(dst=out, segment_ids=x), x, outputs=[((1, 2, len(ids)), dtype)]
    )
    assert same_bits(found, bounds(ids).astype(dtype))


def test_equal_ids_apart_are_two_segments() -> None:
    assert bounds([1, 2, 1])[0].tolist() == [[0, 1, 2], [1, 2, 3]]


def find(**more: Any) -> None:
    nisa.sequence_bounds(**{"dst": empty(1, 2, 6), "segment_ids": tile(1, 6), **more})


CHECKS = {
    "partitions": Check(lambda: find(segment_ids=tile(2, 6)), "expected (1, 2, n)", find),
    "dst shape": Check(lambda: find(dst=empty(1, 6)), "expected (1, 2, n)", find),
    "type": Check(lambda: find(segment_ids=tile(1, 6, dtype=nl.bfloat16)), "expected float32 or int32", find),
    "negative id": Check(lambda: find(segment_ids=tile(1, 6, value=-1.0)), "ids are not negative", find),
}


@pytest.mark.parametrize("name", CHECKS)
def test_refusals(name: str) -> None:
    CHECKS[name].hold()
