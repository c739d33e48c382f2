"""NKI_PRECISE_FP=0: bf16 and fp8 are stored as fp32, so that what is left of an error is the algorithm's."""

from __future__ import annotations

from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import BF16, FP8, FP16, FP32, Check, empty, numbers, on_chip, same_bits, tile


@nki.jit
def chain(x: Any, index: Any) -> Any:
    """(x + 2^-12) - x by way of a tile of the type of x, an access pattern, a transpose and rows by index."""
    rows, columns = x.shape
    assert x.dtype in (nl.bfloat16, nl.float8_e4m3, nl.float16)
    copied = nl.ndarray((rows, columns), dtype=x.dtype)
    nisa.dma_copy(dst=copied, src=x.ap([[columns, rows], [1, columns]]))
    sums = nl.ndarray((rows, columns), dtype=x.dtype)
    nisa.tensor_scalar(dst=sums, data=copied, op0=nl.add, operand0=2.0**-12)
    turned = nl.ndarray((columns, rows), dtype=x.dtype, buffer=nl.psum)
    back = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.psum)
    middle = nl.ndarray((columns, rows), dtype=x.dtype)
    nisa.nc_transpose(dst=turned, data=sums)
    nisa.tensor_copy(dst=middle, src=turned)
    nisa.nc_transpose(dst=back, data=middle)
    stored = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.private_hbm)
    nisa.tensor_copy(dst=sums, src=back)
    places = nl.load(index)
    nisa.dma_copy(dst=stored.ap([[columns, rows], [1, columns]], vector_offset=places), src=sums)
    nisa.dma_copy(dst=sums, src=stored.vector_select(0, places))
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    difference = nl.ndarray((rows, columns), dtype=nl.float32)
    nisa.tensor_tensor(dst=difference, data1=sums, data2=copied, op=nl.subtract)
    nl.store(out, difference)
    nl.store(x, sums)
    return out, x


@pytest.mark.parametrize(("wide", "dtype", "left"), [("0", BF16, 2.0**-12), ("1", BF16, 0.0), ("0", FP16, 0.0)])
def test_a_small_difference_survives_only_in_fp32(
    monkeypatch: pytest.MonkeyPatch, wide: str, dtype: Any, left: float
) -> None:
    monkeypatch.setenv("NKI_PRECISE_FP", wide)
    x = np.rint(numbers(4, 6, low=4, high=30)).astype(dtype)
    before = x.copy()
    found, written = chain(x, np.array([[3], [0], [1], [2]], np.int32))
    assert same_bits(found, np.full((4, 6), left, np.float32))
    assert written is x
    assert same_bits(written, before)


@pytest.mark.parametrize("wide", ["0", "1"])
def test_hardware_descriptors_see_the_types_that_are_stood_for(monkeypatch: pytest.MonkeyPatch, wide: str) -> None:
    monkeypatch.setenv("NKI_PRECISE_FP", wide)
    mode = nisa.dge_mode.hwdge
    turned = Check(
        lambda: nisa.dma_transpose(dst=empty(6, 16), src=tile(16, 6), dge_mode=mode),
        "2-byte types",
        lambda: nisa.dma_transpose(
            dst=empty(6, 16, dtype=nl.bfloat16), src=tile(16, 6, dtype=nl.bfloat16), dge_mode=mode
        ),
    )
    copied = Check(
        lambda: nisa.dma_copy(dst=empty(4, 6), src=tile(4, 6, dtype=nl.bfloat16), dge_mode=mode),
        "cannot convert types",
        lambda: nisa.dma_copy(dst=empty(4, 6), src=tile(4, 6), dge_mode=mode),
    )
    turned.hold()
    copied.hold()


@pytest.mark.parametrize("wide", ["0", "1"])
def test_fp8_products(monkeypatch: pytest.MonkeyPatch, wide: str) -> None:
    monkeypatch.setenv("NKI_PRECISE_FP", wide)
    w, x = numbers(4, 2, 8, seed=1), numbers(4, 2, 6)

    def body(out: Any, w: Any, x: Any) -> None:
        pair = [empty(*value.shape, dtype=nl.float8_e4m3) for value in (w, x)]
        for narrow, value in zip(pair, (w, x), strict=True):
            nisa.tensor_copy(dst=narrow, src=value)
        psum = nl.ndarray((8, 6), dtype=nl.float32, buffer=nl.psum)
        mode = nisa.matmul_perf_mode.double_row
        nisa.nc_matmul(dst=psum, stationary=pair[0], moving=pair[1], accumulate=False, perf_mode=mode)
        nisa.tensor_copy(dst=out, src=psum)

    (found,) = on_chip(body, w, x, outputs=[((8, 6), FP32)])
    rounded = [(value if wide == "0" else value.astype(FP8)).astype(np.float64) for value in (w, x)]
    expected = np.einsum("khm,khn->mn", *rounded)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_results_come_back_in_their_own_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NKI_PRECISE_FP", "0")
    x = numbers(4, 6)
    (found,) = on_chip(lambda out, x: nisa.tensor_copy(dst=out, src=x), x, outputs=[((4, 6), BF16)])
    assert same_bits(found, x.astype(BF16))


def half_of_sbuf() -> None:
    """Capacity counts the declared types, and every tile gives back what it took."""
    for _ in range(3):
        held = [empty(128, 53_000, dtype=nl.bfloat16) for _ in range(2)]
        assert len(held) == 2
        held.clear()


CHECKS = {
    "too much": Check(lambda: [half_of_sbuf(), empty(128, 53_300)], "SBUF overflow", half_of_sbuf),
    "bits": Check(
        lambda: tile(4, 6, dtype=nl.bfloat16).view(nl.uint16), "stored as fp32", lambda: tile(4, 6).view(nl.uint16)
    ),
    "fp32 with bf16": Check(
        lambda: nisa.nc_matmul(
            dst=empty(4, 6, buffer=nl.psum), stationary=tile(8, 4, dtype=nl.bfloat16), moving=tile(8, 6)
        ),
        "fp32 multiplies only with fp32",
        lambda: nisa.nc_matmul(dst=empty(4, 6, buffer=nl.psum), stationary=tile(8, 4), moving=tile(8, 6)),
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_refusals(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NKI_PRECISE_FP", "0")
    CHECKS[name].hold()


def test_tensors_inside_tuples_and_dictionaries_are_arguments() -> None:
    @nki.jit
    def scaled(parts: Any, options: Any) -> Any:
        made = []
        for part in parts:
            out = nl.ndarray(part.shape, dtype=part.dtype, buffer=nl.shared_hbm)
            nl.store(out, nl.multiply(nl.load(part), options["factor"]))
            made.append(out)
        nl.store(options["in_place"], nl.load(parts[0]))
        return tuple(made)

    first, second, third = numbers(3, 4), numbers(2, 5, seed=1), np.zeros((3, 4), np.float32)
    found = scaled((first, second), {"factor": 2.0, "in_place": third})
    assert same_bits(found[0], first * np.float32(2))
    assert same_bits(found[1], second * np.float32(2))
    assert same_bits(third, first)
