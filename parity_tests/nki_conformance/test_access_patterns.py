"""NkiTensor.ap with steps backwards, as instructions read and write by them."""

from __future__ import annotations

from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import FP32, numbers, on_chip, same_bits


@pytest.mark.parametrize("side", ["src", "dst"])
def test_a_row_is_copied_backwards(side: str) -> None:
    x = numbers(4, 3, 10)

    def body(out: Any, x: Any) -> None:
        views = {"dst": out, "src": x}
        views[side] = views[side].ap([[30, 4], [10, 3], [-1, 10]], offset=9)
        nisa.tensor_copy(**views)

    (found,) = on_chip(body, x, outputs=[((4, 3, 10), FP32)])
    assert same_bits(found, np.ascontiguousarray(x[:, :, ::-1]))


@pytest.mark.parametrize("moved", [0, 2])
def test_a_dma_goes_backwards_through_hbm(moved: int) -> None:
    """Rows from the last to the first, each backwards, all of it moved by a run-time number of rows."""

    @nki.jit
    def kernel(x: Any, row: Any) -> Any:
        out = nl.ndarray((4, 8), dtype=x.dtype, buffer=nl.shared_hbm)
        at = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
        nisa.dma_copy(dst=at, src=row)
        nisa.dma_copy(dst=out, src=x.ap([[-8, 4], [-1, 8]], offset=31, scalar_offset=at))
        return out

    x = numbers(6, 8)
    found = kernel(x, np.array([[moved]], np.int32))
    assert same_bits(found, np.ascontiguousarray(x[moved : moved + 4][::-1, ::-1]))
    with pytest.raises(nki.NkiValidationError, match="lies outside the 3 positions"):
        kernel(x, np.array([[3]], np.int32))


def test_an_ascending_argsort_writes_its_indices_backwards() -> None:
    """Each pass finds the 8 largest that are left, and its indices go before those of the pass before."""
    x = np.random.default_rng(3).permutation(24).astype(np.float32)[None, :]

    def body(out: Any, x: Any) -> None:
        for step in range(3):
            top = nl.ndarray((1, 8), dtype=nl.float32, buffer=nl.sbuf)
            nisa.max8(dst=top, src=x)
            place = out.ap([[24, 1], [-1, 8]], offset=8 * (3 - step) - 1)
            nisa.nc_match_replace8(dst=x, data=x, vals=top, imm=float("-inf"), dst_idx=place)

    (found,) = on_chip(body, x, outputs=[((1, 24), np.uint32)])
    assert same_bits(found, np.argsort(x, axis=1).astype(np.uint32))


def test_elements_that_a_view_backwards_leaves_out_stay_unwritten() -> None:
    def body(out: Any, x: Any, last: int) -> None:
        nisa.tensor_copy(dst=out.ap([[6, 4], [-1, last]], offset=5), src=x.ap([[6, 4], [1, last]]))
        nisa.tensor_copy(dst=x, src=out)

    x = numbers(4, 6)
    on_chip(lambda out, x: body(out, x, 6), x, outputs=[((4, 6), FP32)])
    with pytest.raises(nki.NkiValidationError, match=r"4 of 24 elements of the result .* never written"):
        on_chip(lambda out, x: body(out, x, 5), x, outputs=[((4, 6), FP32)])
