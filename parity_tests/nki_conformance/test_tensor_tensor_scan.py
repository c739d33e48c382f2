"""nki.isa.tensor_tensor_scan: a recurrence along the free elements."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import (
    BF16,
    FP32,
    numbers,
    on_chip,
    same_bits,
)


@pytest.mark.parametrize("dtype", [BF16, np.dtype(np.int32)])
def test_a_scan_goes_on_from_the_last_column_of_another_in_its_type(dtype: np.dtype) -> None:
    x = np.arange(24).reshape(4, 6).astype(dtype)

    def body(out: Any, x: Any) -> None:
        ones = nl.ones((4, 3), dtype)
        carried = nl.zeros((4, 1), dtype)
        for half in (slice(0, 3), slice(3, 6)):
            nisa.tensor_tensor_scan(
                dst=out[:, half], data0=ones, data1=x[:, half], initial=carried, op0=nl.multiply, op1=nl.add
            )
            nisa.tensor_copy(dst=carried, src=out[:, half][:, 2])

    (found,) = on_chip(body, x, outputs=[((4, 6), dtype)])
    assert same_bits(found, np.cumsum(x.astype(np.float32), axis=1).astype(dtype))


@pytest.mark.parametrize("reverse", [False, True])
def test_tensor_tensor_scan(reverse: bool) -> None:
    x, y, start = numbers(8, 7), numbers(8, 7, seed=1), numbers(8, 1, seed=2)

    def body(out: Any, x: Any, y: Any, start: Any) -> None:
        nisa.tensor_tensor_scan(
            dst=out, data0=x, data1=y, initial=start, op0=nl.multiply, op1=nl.subtract, reverse1=reverse
        )

    (found,) = on_chip(body, x, y, start, outputs=[((8, 7), FP32)])
    expected = np.empty_like(x)
    running = start[:, 0]
    for i in range(7):
        running = y[:, i] - x[:, i] * running if reverse else x[:, i] * running - y[:, i]
        expected[:, i] = running
    assert same_bits(found, expected)
