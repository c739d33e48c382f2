"""nki.isa.nc_transpose: partitions and elements change places, bit for bit."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import (
    BF16,
    FP8,
    FP32,
    Check,
    empty,
    numbers,
    on_chip,
    same_bits,
    tile,
)


@pytest.mark.parametrize("dtype", [FP32, BF16])
def test_nc_transpose_by_the_tensor_engine(dtype: Any) -> None:
    x = numbers(96, 4, 32, dtype=dtype)

    def body(out: Any, x: Any) -> None:
        psum = nl.ndarray((128, 96), dtype=dtype, buffer=nl.psum)
        nisa.nc_transpose(dst=psum, data=x)
        nisa.tensor_copy(dst=out, src=psum)

    (found,) = on_chip(body, x, outputs=[((128, 96), dtype)])
    assert same_bits(found, np.ascontiguousarray(x.reshape(96, 128).T))


def test_nc_transpose_by_the_vector_engine() -> None:
    x = numbers(32, 20)
    (found,) = on_chip(
        lambda out, x: nisa.nc_transpose(dst=out, data=x, engine=nisa.engine.vector), x, outputs=[((20, 32), FP32)]
    )
    assert same_bits(found, np.ascontiguousarray(x.T))


def test_fp8_comes_out_in_every_second_byte() -> None:
    x = numbers(6, 9, dtype=FP8)

    def body(out: Any, x: Any) -> None:
        psum = nl.ndarray((9, 6, 2), dtype=FP8, buffer=nl.psum)
        nisa.nc_transpose(dst=psum[:, :, 0], data=x)
        nisa.tensor_copy(dst=out, src=psum[:, :, 0])

    (found,) = on_chip(body, x, outputs=[((9, 6), FP8)])
    assert same_bits(found, np.ascontiguousarray(x.T))


def test_fp8_in_adjacent_bytes_is_refused() -> None:
    Check(
        lambda: nisa.nc_transpose(dst=empty(9, 6, dtype=FP8, buffer=nl.psum), data=tile(6, 9, dtype=FP8)),
        "16-bit containers",
        lambda: nisa.nc_transpose(dst=empty(9, 6, 2, dtype=FP8, buffer=nl.psum)[:, :, 1], data=tile(6, 9, dtype=FP8)),
    ).hold()
