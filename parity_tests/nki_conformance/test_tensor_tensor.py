"""nki.isa.tensor_tensor: two tiles, element by element."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import (
    ARITHMETIC,
    FP32,
    PAIRS,
    numbers,
    on_chip,
    same_bits,
    wide,
)


@pytest.mark.parametrize("op", [*ARITHMETIC, "power"])
def test_tensor_tensor_operators(op: str) -> None:
    x, y = np.rint(numbers(128, 24, low=0)), np.rint(numbers(128, 24, seed=1))
    (found,) = on_chip(
        lambda out, x, y: nisa.tensor_tensor(dst=out, data1=x, data2=y, op=getattr(nl, op)),
        x,
        y,
        outputs=[((128, 24), FP32)],
    )
    with np.errstate(divide="ignore"):
        expected = ARITHMETIC.get(op, np.power)(x, y).astype(np.float32)
    assert same_bits(found, expected)


@pytest.mark.parametrize(("source", "target"), [*PAIRS, (FP32, np.dtype(np.int32)), (FP32, np.dtype(np.uint8))])
def test_tensor_tensor_rounds_once_to_dst(source: Any, target: Any) -> None:
    x, y = numbers(64, 10, dtype=source, low=-20, high=20), numbers(64, 10, dtype=source, seed=1, low=-20, high=20)
    (found,) = on_chip(
        lambda out, x, y: nisa.tensor_tensor(dst=out, data1=x, data2=y, op=nl.multiply),
        x,
        y,
        outputs=[((64, 10), target)],
    )
    expected = wide(x) * wide(y)
    if target.kind in "iu":
        limits = np.iinfo(target)
        expected = np.clip(np.rint(expected), limits.min, limits.max)
    assert same_bits(found, expected.astype(target))


def test_tensor_tensor_needs_equal_counts_not_equal_shapes() -> None:
    x, y = numbers(8, 6), numbers(8, 2, 3, seed=1)
    (found,) = on_chip(
        lambda out, x, y: nisa.tensor_tensor(dst=out, data1=x, data2=y, op=nl.add), x, y, outputs=[((8, 3, 2), FP32)]
    )
    assert same_bits(found, (x + y.reshape(8, 6)).reshape(8, 3, 2))


def test_tensor_tensor_on_int32_is_exact_above_two_to_the_24() -> None:
    x = np.array([[2**30 + 1, -(2**31)]], np.int32)
    y = np.array([[2, 3]], np.int32)
    (found,) = on_chip(
        lambda out, x, y: nisa.tensor_tensor(dst=out, data1=x, data2=y, op=nl.add),
        x,
        y,
        outputs=[((1, 2), np.dtype(np.int32))],
    )
    assert same_bits(found, x + y)


@pytest.mark.parametrize("op", ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"])
def test_bitvec_operators(op: str) -> None:
    x, y = np.arange(24, dtype=np.uint16).reshape(4, 6) * 411, np.arange(24, dtype=np.uint16).reshape(4, 6) % 5
    dtype = np.dtype(np.uint16)
    (tiles,) = on_chip(
        lambda out, x, y: nisa.tensor_tensor(dst=out, data1=x, data2=y, op=getattr(nl, op)),
        x,
        y,
        outputs=[((4, 6), dtype)],
    )
    (constant,) = on_chip(
        lambda out, x: nisa.tensor_scalar(dst=out, data=x, op0=getattr(nl, op), operand0=3, op1=nl.invert),
        x,
        outputs=[((4, 6), dtype)],
    )
    assert same_bits(tiles, getattr(np, op)(x, y))
    assert same_bits(constant, np.invert(getattr(np, op)(x, np.uint16(3))))


BIG = np.array([[2**31 - 1, -(2**31), -1, 2**24 + 1, 77]], np.int32)
OTHER = np.array([[2**31 - 1, -1, 2**30, 3, -78]], np.int32)


@pytest.mark.parametrize("dtype", [np.dtype(np.int32), np.dtype(np.uint32)])
@pytest.mark.parametrize("op", [*ARITHMETIC])
def test_32_bit_integers_are_exact_and_wrap(op: str, dtype: Any) -> None:
    x, y = BIG.view(dtype), OTHER.view(dtype)
    (found,) = on_chip(
        lambda out, x, y: nisa.tensor_tensor(dst=out, data1=x, data2=y, op=getattr(nl, op)),
        x,
        y,
        outputs=[((1, 5), dtype)],
    )
    exact = ARITHMETIC[op](x.astype(np.int64), y.astype(np.int64))
    assert [int(value) % 2**32 for value in found[0]] == [int(value) % 2**32 for value in exact[0]]


def test_32_bit_integers_on_the_vector_engine_go_through_fp32() -> None:
    def body(out: Any, x: Any, y: Any, engine: Any) -> None:
        nisa.tensor_tensor(dst=out, data1=x, data2=y, op=nl.add, engine=engine)

    even, one = np.array([[2**24 + 2]], np.int32), np.array([[1]], np.int32)
    for engine, expected in ((nisa.engine.vector, 2**24 + 4), (nisa.engine.gpsimd, 2**24 + 3)):
        (found,) = on_chip(
            lambda out, x, y, engine=engine: body(out, x, y, engine),  # type: ignore[misc]
            even,
            one,
            outputs=[((1, 1), np.dtype(np.int32))],
        )
        assert found.item() == expected


@pytest.mark.parametrize("dtype", [np.dtype(np.int32), np.dtype(np.int8), np.dtype(np.uint16)])
def test_shifts_right_are_logical(dtype: Any) -> None:
    x = np.array([[-1, -8, 5, 100]]).astype(dtype)
    bits = 8 * dtype.itemsize
    for amount in (0, 1, bits - 1):
        y = np.full((1, 4), amount, dtype)
        (tiles,) = on_chip(
            lambda out, x, y: nisa.tensor_tensor(dst=out, data1=x, data2=y, op=nl.right_shift),
            x,
            y,
            outputs=[((1, 4), dtype)],
        )
        (constant,) = on_chip(
            lambda out, x, amount=amount: nisa.tensor_scalar(  # type: ignore[misc]
                dst=out, data=x, op0=nl.right_shift, operand0=amount
            ),
            x,
            outputs=[((1, 4), dtype)],
        )
        expected = [(int(value) % 2**bits) >> amount for value in x[0]]
        assert [int(value) % 2**bits for value in tiles[0]] == expected
        assert same_bits(tiles, constant)
