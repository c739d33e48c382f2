"""nki.isa.max8, nc_find_index8 and nc_match_replace8: the largest values, where they are, and removing them."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import BF16, FP32, Check, empty, numbers, on_chip, same_bits, tile

U16, U32 = np.dtype(np.uint16), np.dtype(np.uint32)
HUGE = 16_384


@pytest.mark.parametrize(("shape", "dtype"), [((128, 300), FP32), ((3, 8), BF16), ((2, 5, 7), FP32)])
def test_max8(shape: tuple[int, ...], dtype: Any) -> None:
    x = numbers(*shape, dtype=dtype)
    (found,) = on_chip(lambda out, x: nisa.max8(dst=out, src=x), x, outputs=[((shape[0], 8), dtype)])
    assert same_bits(found, np.sort(x.reshape(shape[0], -1).astype(np.float32), axis=1)[:, :-9:-1].astype(dtype))
    assert not same_bits(found, found[:, ::-1])


def first_occurrences(data: np.ndarray, vals: np.ndarray, order: range) -> np.ndarray:
    found = np.full(vals.shape, -1, np.int64)
    for row in range(vals.shape[0]):
        used: set[int] = set()
        for slot in order:
            places = [i for i in range(data.shape[1]) if data[row, i] == vals[row, slot] and i not in used]
            if places:
                found[row, slot] = places[0]
                used.add(places[0])
    return found


DATA = np.array([[5, 1, 5, 2, 5, 9, 9, 0, 3, 3, 7, 4]], np.float32).repeat(2, axis=0)
VALS = np.array([[5, 5, 9, 0, 8, 3, 1, 9], [5, 5, 5, 5, 4, 4, 4, 4]], np.float32)


@pytest.mark.parametrize("dtype", [U16, U32])
def test_nc_find_index8(dtype: Any) -> None:
    (found,) = on_chip(
        lambda out, x, v: nisa.nc_find_index8(dst=out, data=x, vals=v), DATA, VALS, outputs=[((2, 8), dtype)]
    )
    assert same_bits(found, first_occurrences(DATA, VALS, range(8)).astype(dtype))
    assert found[0, 0] == 0
    assert found[0, 4] == np.iinfo(dtype).max


def test_nc_match_replace8() -> None:
    def body(out: Any, where: Any, x: Any, v: Any) -> None:
        nisa.nc_match_replace8(dst=out, data=x, vals=v, imm=-100.0, dst_idx=where)

    found, where = on_chip(body, DATA, VALS, outputs=[((2, 12), BF16), ((2, 8), U32)])
    places = first_occurrences(DATA, VALS, range(7, -1, -1))
    expected = DATA.copy()
    for row, slots in enumerate(places):
        expected[row, slots[slots >= 0]] = -100.0
    assert same_bits(found, expected.astype(BF16))
    assert same_bits(where, places.astype(np.uint32))
    assert where[0, 1] < where[0, 0]


def test_taking_the_maxima_out_gives_the_next_eight() -> None:
    x = numbers(4, 40)

    def body(out: Any, x: Any) -> None:
        top = empty(4, 8)
        nisa.max8(dst=top, src=x)
        nisa.nc_match_replace8(dst=x, data=x, vals=top, imm=-1e30)
        nisa.max8(dst=out, src=x)

    (found,) = on_chip(body, x, outputs=[((4, 8), FP32)])
    assert same_bits(found, np.sort(x, axis=1)[:, ::-1][:, 8:16].copy())


def find(**more: Any) -> None:
    nisa.nc_find_index8(**{"dst": empty(2, 8, dtype=nl.uint16), "data": tile(2, 8), "vals": tile(2, 8), **more})


def replace(**more: Any) -> None:
    nisa.nc_match_replace8(**{"dst": empty(2, 8), "data": tile(2, 8), "vals": tile(2, 8), "imm": 0.0, **more})


CHECKS = {
    "too few": Check(
        lambda: nisa.max8(dst=empty(2, 8), src=tile(2, 7)),
        "8 to 16384 expected",
        lambda: nisa.max8(dst=empty(2, 8), src=tile(2, 8)),
    ),
    "too many": Check(
        lambda: nisa.max8(dst=empty(2, 8), src=tile(2, HUGE + 1)),
        "8 to 16384 expected",
        lambda: nisa.max8(dst=empty(2, 8), src=tile(2, HUGE)),
    ),
    "rank": Check(
        lambda: nisa.max8(dst=empty(2, 8), src=tile(2, 2, 2, 2)),
        "at most 3",
        lambda: nisa.max8(dst=empty(2, 8), src=tile(2, 2, 4)),
    ),
    "dst": Check(
        lambda: nisa.max8(dst=empty(2, 2, 4), src=tile(2, 8)),
        "expected (2, 8)",
        lambda: nisa.max8(dst=empty(2, 8), src=tile(2, 8)),
    ),
    "seven values": Check(lambda: find(vals=tile(2, 7)), "expected (2, 8)", find),
    "index type": Check(lambda: find(dst=empty(2, 8, dtype=nl.int32)), "expected uint16 or uint32", find),
    "replacement": Check(lambda: replace(imm="0"), "expected a number", replace),
    "replacement index type": Check(
        lambda: replace(dst_idx=empty(2, 8)),
        "dst_idx: type float32",
        lambda: replace(dst_idx=empty(2, 8, dtype=nl.uint32)),
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_refusals(name: str) -> None:
    CHECKS[name].hold()
