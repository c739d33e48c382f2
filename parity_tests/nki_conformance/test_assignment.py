"""`tensor[index] = value`: one copy, of bits between equal types, through fp32 otherwise; what is not indexed stays."""

from __future__ import annotations

from typing import Any

import nki
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import (
    BF16,
    FP16,
    FP32,
    Check,
    empty,
    numbers,
    on_chip,
    product,
    run,
    same_bits,
    tile,
    wide,
)


@pytest.mark.parametrize(("source", "target"), [(FP32, FP32), (FP32, BF16), (BF16, FP32), (FP16, BF16)])
def test_a_tile_into_columns_of_another(source: Any, target: Any) -> None:
    x, y = numbers(128, 9, dtype=target), numbers(128, 4, dtype=source, seed=1)

    def body(out: Any, x: Any, y: Any) -> None:
        out[...] = x
        out[:, 2:6] = y

    (found,) = on_chip(body, x, y, outputs=[((128, 9), target)])
    expected = x.copy()
    expected[:, 2:6] = wide(y).astype(target)
    assert same_bits(found, expected)
    assert not same_bits(found, x)


def test_a_number_and_a_product() -> None:
    def body(out: Any) -> None:
        out[...] = 2.5
        out[0:4, 0:4] = product(4, 4, 3)

    (found,) = on_chip(body, outputs=[((8, 6), FP32)])
    expected = np.full((8, 6), 2.5, np.float32)
    expected[:4, :4] = 3.0
    assert same_bits(found, expected)


def test_from_hbm_and_to_hbm() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=nl.bfloat16, buffer=nl.shared_hbm)
        held = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
        held[...] = x
        for row in range(4):
            out[row : row + 1] = held[3 - row : 4 - row] if row % 2 else x[3 - row]
        return out

    x = numbers(4, 7)
    assert same_bits(kernel(x), x[::-1].astype(BF16))


CHECKS = {
    "broadcasting": Check(
        lambda: tile(4, 6).__setitem__(..., tile(4, 1)),
        "there is no broadcasting",
        lambda: tile(4, 6).__setitem__(slice(0, 4), tile(4, 1, 6)),
    ),
    "a list": Check(
        lambda: tile(4, 6).__setitem__(..., [1.0]),
        "neither a tensor nor a number",
        lambda: tile(4, 6).__setitem__(..., 1.0),
    ),
    "a number into HBM": Check(
        lambda: nl.ndarray((4, 6), nl.float32, nl.private_hbm).__setitem__(..., 1.0),
        "HBM takes no numbers",
        lambda: nl.ndarray((4, 6), nl.float32, nl.private_hbm).__setitem__(..., tile(4, 6)),
    ),
    "PSUM into HBM": Check(
        lambda: nl.ndarray((4, 4), nl.float32, nl.private_hbm).__setitem__(..., product()),
        "PSUM",
        lambda: empty(4, 4).__setitem__(..., product()),
    ),
    "a fraction into integers": Check(
        lambda: tile(4, 6, dtype=nl.int32).__setitem__(..., 0.5),
        "value",
        lambda: tile(4, 6, dtype=nl.int32).__setitem__(..., 5),
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_trips_and_its_neighbour_passes(name: str) -> None:
    CHECKS[name].hold()


def test_what_is_wrong_with_the_copy_is_told_at_the_line_that_assigns() -> None:
    def body() -> None:
        held = tile(4, 6)
        held[:, 0:2] = empty(4, 2, dtype=nl.int32)[:, 0:1]

    with pytest.raises(nki.NkiValidationError, match="there is no broadcasting") as caught:
        run(body)
    assert (caught.value.instruction, caught.value.line) == ("NkiTensor.__setitem__", body.__code__.co_firstlineno + 2)
