"""nki.isa.tensor_copy: bits between equal types, through fp32 otherwise; conversions round to even and saturate."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import (
    BF16,
    FP32,
    PAIRS,
    Check,
    empty,
    numbers,
    on_chip,
    same_bits,
    tile,
    wide,
)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_tensor_copy(source: Any, target: Any) -> None:
    x = numbers(128, 9, dtype=source)
    (found,) = on_chip(lambda out, x: nisa.tensor_copy(dst=out, src=x), x, outputs=[((128, 9), target)])
    assert same_bits(found, wide(x).astype(target))


def test_tensor_copy_of_equal_types_keeps_the_bits_of_nan() -> None:
    x = np.array([[0x7FC00001, 0xFFC12345]], np.uint32).view(np.float32)
    (found,) = on_chip(lambda out, x: nisa.tensor_copy(dst=out, src=x), x, outputs=[((1, 2), FP32)])
    assert same_bits(found, x)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (2.5, np.int32, 2),
        (3.5, np.int32, 4),
        (-0.5, np.int8, 0),
        (1e10, np.int32, 2**31 - 1),
        (-1e10, np.int32, -(2**31)),
        (300.0, np.uint8, 255),
        (-1.0, np.uint16, 0),
        (float("nan"), np.int16, 0),
    ],
)
def test_float_to_integer_rounds_to_even_and_saturates(value: float, dtype: Any, expected: int) -> None:
    x = np.array([[value]], np.float32)
    (found,) = on_chip(lambda out, x: nisa.tensor_copy(dst=out, src=x), x, outputs=[((1, 1), np.dtype(dtype))])
    assert same_bits(found, np.array([[expected]], dtype))


def test_an_nki_that_does_not_saturate_yet_refuses_what_it_would_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NKI_STAND_IN_VERSION", "0.5")

    def converted(value: float) -> Any:
        x = np.array([[value]], np.float32)
        return on_chip(lambda out, x: nisa.tensor_copy(dst=out, src=x), x, outputs=[((1, 1), np.dtype(np.uint8))])[0]

    assert converted(255.4) == 255
    with pytest.raises(nisa.NkiValidationError, match=r"saturating 256\.0 in uint8 is new in NKI 0\.6"):
        converted(255.6)
    monkeypatch.setenv("NKI_STAND_IN_VERSION", "0.6")
    assert converted(255.6) == 255


def test_comparing_bits_tells_one_ulp_apart() -> None:
    x = numbers(4, 8)
    y = x.copy()
    y[3, 7] = np.nextafter(y[3, 7], np.float32(9))
    assert same_bits(x, x.copy())
    assert not same_bits(x, y)
    assert not same_bits(x, x.astype(BF16))


def copy(value: int, engine: Any) -> None:
    nisa.tensor_copy(dst=empty(2, 3, dtype=nl.int32), src=tile(2, 3, dtype=nl.int32, value=value), engine=engine)


def test_the_scalar_engine_copies_integers_through_fp32() -> None:
    Check(
        lambda: copy(2**24 + 1, nisa.engine.scalar),
        "changes on its way through fp32",
        lambda: [
            copy(2**24, nisa.engine.scalar),
            copy(2**24 + 1, nisa.engine.vector),
            copy(2**24 + 1, nisa.engine.gpsimd),
        ],
    ).hold()
