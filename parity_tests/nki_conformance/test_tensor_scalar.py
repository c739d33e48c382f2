"""nki.isa.tensor_scalar: one or two operators with a number or one value per partition."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import (
    BF16,
    FLOATS,
    FP32,
    numbers,
    on_chip,
    same_bits,
    wide,
)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reverse", [False, True])
def test_tensor_scalar_with_vector_and_constant(dtype: Any, reverse: bool) -> None:
    x, v = numbers(128, 11, dtype=dtype), numbers(128, 1, seed=1)
    (found,) = on_chip(
        lambda out, x, v: nisa.tensor_scalar(
            dst=out, data=x, op0=nl.subtract, operand0=v, reverse0=reverse, op1=nl.multiply, operand1=0.1
        ),
        x,
        v,
        outputs=[((128, 11), dtype)],
    )
    difference = v - wide(x) if reverse else wide(x) - v
    assert same_bits(found, (difference * np.float32(0.1)).astype(dtype))
    assert not same_bits(found, ((wide(x) - v if reverse else v - wide(x)) * np.float32(0.1)).astype(dtype))


def test_tensor_scalar_does_not_round_between_its_two_steps() -> None:
    x = np.full((1, 1), 1.0, BF16)
    (found,) = on_chip(
        lambda out, x: nisa.tensor_scalar(
            dst=out, data=x, op0=nl.add, operand0=2.0**-12, op1=nl.subtract, operand1=1.0
        ),
        x,
        outputs=[((1, 1), BF16)],
    )
    assert same_bits(found, np.full((1, 1), 2.0**-12, BF16))


def test_tensor_scalar_comparison_to_a_predicate() -> None:
    x, label = np.tile(np.arange(6, dtype=np.float32), (4, 1)), np.arange(4, dtype=np.float32)[:, None]
    (found,) = on_chip(
        lambda out, x, label: nisa.tensor_scalar(dst=out, data=x, op0=nl.equal, operand0=label),
        x,
        label,
        outputs=[((4, 6), np.dtype(np.uint8))],
    )
    assert same_bits(found, np.eye(4, 6, dtype=np.uint8))


def test_tensor_scalar_rsqrt_is_not_bound_to_the_table() -> None:
    x = np.array([[2.0**-100, 4.0, 2.0**100]], np.float32)
    (found,) = on_chip(
        lambda out, x: nisa.tensor_scalar(dst=out, data=x, op0=nl.rsqrt, operand0=0.0), x, outputs=[((1, 3), FP32)]
    )
    assert same_bits(found, np.array([[2.0**50, 0.5, 2.0**-50]], np.float32))
