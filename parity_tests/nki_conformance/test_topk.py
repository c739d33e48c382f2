"""nki.isa.topk: the k largest of each group of 16 partitions, in snake order."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import BF16, Check, empty, on_chip, run, same_bits, tile, use

U32 = np.dtype(np.uint32)


@pytest.mark.parametrize("order", [{}, {"sorted": False}, {"sorted": True}])
def test_largest_in_the_last_place_of_the_snake_or_in_the_first_where_sorted(order: dict[str, bool]) -> None:
    n, k = 70, 20
    x = np.random.default_rng(0).permutation(32 * 6).reshape(32, 6).astype(np.float32).astype(BF16)

    def body(values: Any, places: Any, x: Any) -> None:
        nisa.memset(dst=values, value=0.0)
        nisa.memset(dst=places, value=0)
        nisa.topk(val_dst=values, idx_dst=places, src=x, n=n, **order)

    values, places = on_chip(body, x, outputs=[((32, k), BF16), ((32, k), U32)])
    for group in (0, 1):
        snake = [x[16 * group + e % 16, e // 16] for e in range(n)]
        found = sorted(range(n), key=lambda e: float(snake[e]))[n - k :]
        for e, position in enumerate(found[::-1] if order.get("sorted") else found):
            assert places[16 * group + e % 16, e // 16] == position
            assert values[16 * group + e % 16, e // 16] == snake[position]
        lanes = slice(16 * group + k % 16, 16 * group + 16)  # of the last column: undefined
        assert np.isnan(values[lanes, 1].astype(np.float32)).all()
        assert (places[lanes, 1] == 2**32 - 1).all()
    assert same_bits(values[:, 2:], np.zeros((32, k - 2), BF16))


def largest(**more: Any) -> None:
    nisa.topk(
        **{
            "val_dst": empty(16, 8, dtype=nl.bfloat16),
            "idx_dst": empty(16, 8, dtype=nl.uint32),
            "src": tile(16, 2, dtype=nl.bfloat16),
            "n": 32,
            **more,
        }
    )


def many(**more: Any) -> None:
    k = 8193
    wide = {"val_dst": empty(16, k, dtype=nl.bfloat16), "idx_dst": empty(16, k, dtype=nl.uint32)}
    largest(**wide, src=tile(16, 640, dtype=nl.bfloat16), n=10_000, **more)


def read_back(k: int) -> None:
    values = empty(16, k, dtype=nl.bfloat16)
    largest(val_dst=values, idx_dst=empty(16, k, dtype=nl.uint32))
    use(values[:, :1])


CHECKS = {
    "type": Check(lambda: largest(src=tile(16, 2)), "expected bfloat16", largest),
    "index type": Check(lambda: largest(idx_dst=empty(16, 8, dtype=nl.int32)), "expected uint32", largest),
    "more than src holds": Check(lambda: largest(n=33), "at most 16 x 2", lambda: largest(n=32)),
    "too few elements": Check(lambda: largest(n=7), "8 to 65535", lambda: largest(n=8)),
    "more results than elements": Check(
        lambda: largest(val_dst=empty(16, 33, dtype=nl.bfloat16), idx_dst=empty(16, 33, dtype=nl.uint32)),
        "the number of results is 1 to n = 32",
        lambda: largest(val_dst=empty(16, 32, dtype=nl.bfloat16), idx_dst=empty(16, 32, dtype=nl.uint32)),
    ),
    "no order": Check(lambda: largest(sorted="descending"), "expected True or False", lambda: largest(sorted=True)),
    "too many in order": Check(lambda: many(sorted=True), "8193 results; at most 8192", many),
    "rest of the last column": Check(lambda: read_back(10), "uninitialised read: 6 of 16", lambda: read_back(16)),
    "partitions": Check(
        lambda: largest(
            val_dst=empty(8, 8, dtype=nl.bfloat16),
            idx_dst=empty(8, 8, dtype=nl.uint32),
            src=tile(8, 2, dtype=nl.bfloat16),
        ),
        "a multiple of 16",
        largest,
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_refusals(name: str) -> None:
    CHECKS[name].hold()


def test_a_machine_with_nki_0_5_lacks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NKI_STAND_IN_VERSION", "0.7")
    run(lambda: largest(sorted=True))
    monkeypatch.setenv("NKI_STAND_IN_VERSION", "0.6")
    run(largest)
    with pytest.raises(nisa.NkiValidationError, match=r"new in NKI 0\.7"):
        run(lambda: largest(sorted=True))
    monkeypatch.setenv("NKI_STAND_IN_VERSION", "0.5")
    with pytest.raises(nisa.NkiValidationError, match=r"new in NKI 0\.6"):
        run(largest)
