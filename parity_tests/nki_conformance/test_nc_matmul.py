"""nki.isa.nc_matmul: products of SBUF tiles, summed in fp32 in PSUM."""

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
    product,
    same_bits,
    tile,
)


@pytest.mark.parametrize("dtype", [FP32, BF16, FP8])
@pytest.mark.parametrize(("k", "m", "n"), [(128, 128, 512), (7, 5, 3)])
def test_nc_matmul(dtype: Any, k: int, m: int, n: int) -> None:
    x, w = numbers(k, n, dtype=dtype), numbers(k, m, dtype=dtype, seed=1)

    def body(out: Any, w: Any, x: Any) -> None:
        psum = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=psum, stationary=w, moving=x, accumulate=False)
        nisa.tensor_copy(dst=out, src=psum)

    (found,) = on_chip(body, w, x, outputs=[((m, n), FP32)])
    expected = w.astype(np.float64).T @ x.astype(np.float64)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)
    assert not np.allclose(found, x.astype(np.float64).sum(), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("accumulate", ["explicit", "implicit"])
def test_nc_matmul_accumulates_over_k(accumulate: str) -> None:
    x, w = numbers(3, 16, 8), numbers(3, 16, 4, seed=1)

    def body(out: Any, *tiles: Any) -> None:
        psum = nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.psum)
        for k in range(3):
            add = None if accumulate == "implicit" else k > 0
            nisa.nc_matmul(dst=psum, stationary=tiles[k], moving=tiles[3 + k], accumulate=add)
        nisa.tensor_copy(dst=out, src=psum)

    (found,) = on_chip(body, *w, *x, outputs=[((4, 8), FP32)])
    expected = sum(np.matmul(w[k].T, x[k]) for k in range(3))
    assert same_bits(found, expected)
    assert not same_bits(found, np.matmul(w[2].T, x[2]))


def test_nc_matmul_implicit_accumulation_overwrites_element_by_element() -> None:
    def body(out: Any, w: Any, x: Any) -> None:
        psum = nl.ndarray((2, 4), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=psum[0:2, 0:2], stationary=w, moving=x[0:3, 0:2])
        nisa.nc_matmul(dst=psum, stationary=w, moving=x)
        nisa.tensor_copy(dst=out, src=psum)

    w, x = numbers(3, 2), numbers(3, 4, seed=1)
    (found,) = on_chip(body, w, x, outputs=[((2, 4), FP32)])
    once = np.matmul(w.T, x)
    first = np.matmul(w.T, x[:, 0:2])
    assert same_bits(found, np.concatenate([first + once[:, 0:2], once[:, 2:4]], axis=1))


def test_nc_matmul_double_row_sums_both_halves() -> None:
    w, x = numbers(4, 2, 8, dtype=FP8), numbers(4, 2, 6, dtype=FP8, seed=1)

    def body(out: Any, w: Any, x: Any) -> None:
        psum = nl.ndarray((8, 6), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=psum, stationary=w, moving=x, accumulate=False, perf_mode=nisa.matmul_perf_mode.double_row)
        nisa.tensor_copy(dst=out, src=psum)

    (found,) = on_chip(body, w, x, outputs=[((8, 6), FP32)])
    halves = [w[:, h].astype(np.float64).T @ x[:, h].astype(np.float64) for h in (0, 1)]
    np.testing.assert_allclose(found, halves[0] + halves[1], rtol=1e-6, atol=1e-5)
    assert not np.allclose(found, halves[0])


def test_product_in_psum_feeds_the_vector_engine() -> None:
    (found,) = on_chip(
        lambda out: nisa.tensor_scalar(dst=out, data=product(4, 6, 8), op0=nl.multiply, operand0=0.5),
        outputs=[((4, 6), FP32)],
    )
    assert same_bits(found, np.full((4, 6), 4.0, np.float32))


def test_transpose_mode_keeps_every_bit() -> None:
    x = numbers(5, 7, dtype=BF16)
    x[0, 0], x[1, 2] = np.nan, np.inf

    def body(out: Any, x: Any) -> None:
        psum = nl.ndarray((7, 5), dtype=nl.bfloat16, buffer=nl.psum)
        identity = nl.shared_identity_matrix(5, dtype=nl.bfloat16)
        nisa.nc_matmul(dst=psum, stationary=x, moving=identity, is_transpose=True)
        nisa.tensor_copy(dst=out, src=psum)

    (found,) = on_chip(body, x, outputs=[((7, 5), BF16)])
    assert same_bits(found, np.ascontiguousarray(x.T))


def transpose(**more: Any) -> None:
    nisa.nc_matmul(
        **{
            "dst": empty(6, 4, buffer=nl.psum),
            "stationary": tile(4, 6),
            "moving": nl.shared_identity_matrix(4, dtype=nl.float32),
            "is_transpose": True,
            **more,
        }
    )


CHECKS = {
    "transposing by something else": Check(lambda: transpose(moving=tile(4, 4)), "expected the identity", transpose),
    "transposed type": Check(
        lambda: transpose(dst=empty(6, 4, dtype=nl.bfloat16, buffer=nl.psum)), "goes to PSUM in that type", transpose
    ),
    "transposed shape": Check(lambda: transpose(dst=empty(4, 6, buffer=nl.psum)), "transposed is (6, 4)", transpose),
    "accumulating a transpose": Check(lambda: transpose(accumulate=True), "neither accumulates", transpose),
}


@pytest.mark.parametrize("name", CHECKS)
def test_refusals(name: str) -> None:
    CHECKS[name].hold()
