"""nki.isa.activation: functions of the Scalar engine, and their sums over the free dimensions."""

from __future__ import annotations

import math
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


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


def erf(x: np.ndarray) -> np.ndarray:
    return np.array([math.erf(v) for v in x.flat]).reshape(x.shape)


def normal(x: np.ndarray) -> np.ndarray:
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


TABLE = {
    "copy": lambda x: x,
    "square": lambda x: x * x,
    "abs": np.abs,
    "sign": np.sign,
    "relu": lambda x: np.maximum(x, 0),
    "exp": np.exp,
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x),
    "silu_dx": lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x))),
    "gelu": lambda x: x * (1 + erf(x / math.sqrt(2))) / 2,
    "gelu_dx": lambda x: (1 + erf(x / math.sqrt(2))) / 2 + x * normal(x),
    "gelu_apprx_tanh": lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "gelu_apprx_sigmoid": lambda x: x * sigmoid(1.702 * x),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "erf": erf,
    "erf_dx": lambda x: 2 / math.sqrt(math.pi) * np.exp(-x * x),
    "sin": np.sin,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "arctan": np.arctan,
}


@pytest.mark.parametrize("op", TABLE)
def test_activation_functions(op: str) -> None:
    x = numbers(16, 20, low=0.1 if op in ("log", "sqrt", "rsqrt", "reciprocal") else -1.5, high=1.5)
    (found,) = on_chip(
        lambda out, x: nisa.activation(dst=out, op=getattr(nl, op), data=x), x, outputs=[((16, 20), FP32)]
    )
    expected = TABLE[op](x.astype(np.float64))
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-7)
    assert not np.allclose(found[:, ::-1], expected, rtol=2e-6, atol=2e-7)


def test_gelu_apprx_sigmoid_dx_is_the_derivative() -> None:
    x = numbers(4, 9)
    (found,) = on_chip(
        lambda out, x: nisa.activation(dst=out, op=nl.gelu_apprx_sigmoid_dx, data=x), x, outputs=[((4, 9), FP32)]
    )
    step = 1e-5
    wider = x.astype(np.float64)
    function = TABLE["gelu_apprx_sigmoid"]
    np.testing.assert_allclose(
        found, (function(wider + step) - function(wider - step)) / (2 * step), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_activation_scales_biases_and_rounds_once(source: Any, target: Any) -> None:
    x, s, b = numbers(128, 6, dtype=source), numbers(128, 1, seed=1), numbers(128, 1, seed=2)
    (found,) = on_chip(
        lambda out, x, s, b: nisa.activation(dst=out, op=nl.square, data=x, scale=s, bias=b),
        x,
        s,
        b,
        outputs=[((128, 6), target)],
    )
    assert same_bits(found, np.square(wide(x) * s + b).astype(target))
    assert not same_bits(found, np.square(wide(x) * b + s).astype(target))


def test_activation_sums_in_fp32_before_rounding_to_dst() -> None:
    x = numbers(128, 300, dtype=BF16)

    def body(out: Any, total: Any, x: Any) -> None:
        nisa.activation(
            dst=out,
            op=nl.exp,
            data=x,
            reduce_op=nl.add,
            reduce_res=total,
            reduce_cmd=nisa.reduce_cmd.reset_reduce,
        )

    found, total = on_chip(body, x, outputs=[((128, 300), BF16), ((128, 1), FP32)])
    values = np.exp(wide(x))
    assert same_bits(found, values.astype(BF16))
    assert same_bits(total, values.sum(axis=1, keepdims=True))
    assert not same_bits(total, wide(values.astype(BF16)).sum(axis=1, keepdims=True))


def test_activation_registers_chain_over_instructions() -> None:
    x = numbers(8, 12)
    command = nisa.reduce_cmd

    def body(out: Any, total: Any, x: Any) -> None:
        for part, how in ((0, command.reset_reduce), (1, command.reduce), (2, command.reduce)):
            columns = slice(4 * part, 4 * part + 4)
            nisa.activation(
                dst=out[:, columns],
                op=nl.square,
                data=x[:, columns],
                reduce_op=nl.add,
                reduce_res=total if part == 2 else None,
                reduce_cmd=how,
            )

    _, total = on_chip(body, x, outputs=[((8, 12), FP32), ((8, 1), FP32)])
    parts = [np.square(x[:, i : i + 4]).sum(axis=1, keepdims=True) for i in (0, 4, 8)]
    assert same_bits(total, parts[0] + parts[1] + parts[2])


DOMAINS = {
    "log": (2.0**-64, 2.0**64),
    "sqrt": (2.0**-116, 2.0**118),
    "rsqrt": (2.0**-87, 2.0**97),
    "reciprocal": (2.0**-42, 2.0**42),
    "arctan": (-math.pi / 2, math.pi / 2),
    "sin": (-math.pi, math.pi),
}


@pytest.mark.parametrize("op", DOMAINS)
def test_a_table_ends_where_the_documentation_says(op: str) -> None:
    low, high = DOMAINS[op]
    inside = [np.float32(low), np.float32(high)]
    inside = [x if low <= x <= high else np.nextafter(x, np.float32(0)) for x in inside]
    for edge, away in zip(inside, (-1, 1), strict=True):
        outside = np.nextafter(edge, np.float32(away * np.inf))
        signs = (1, -1) if op == "reciprocal" else (1,)
        for sign in signs:
            Check(
                lambda x=sign * outside: apply(op, x),  # type: ignore[misc]
                f"in which the table of nl.{op} is valid",
                lambda x=sign * edge: apply(op, x),  # type: ignore[misc]
            ).hold()


def apply(op: str, value: Any) -> None:
    nisa.activation(dst=empty(1, 1), op=getattr(nl, op), data=tile(1, 1, value=float(value)))


@pytest.mark.parametrize("op", sorted(set(TABLE) - set(DOMAINS)))
def test_other_tables_take_all_reals(op: str) -> None:
    x = np.array([[-3e38, -1e5, 0.0, 1e5, 3e38]], np.float32)
    (found,) = on_chip(lambda out, x: nisa.activation(dst=out, op=getattr(nl, op), data=x), x, outputs=[((1, 5), FP32)])
    assert not np.isnan(found).any()


@pytest.mark.parametrize("op", ["silu_dx", "gelu_dx", "gelu_apprx_sigmoid_dx", "erf_dx"])
def test_derivatives_end_as_their_functions_do(op: str) -> None:
    x = np.array([[-60.0, -20.0, 0.0, 20.0, 60.0]], np.float32)
    (found,) = on_chip(lambda out, x: nisa.activation(dst=out, op=getattr(nl, op), data=x), x, outputs=[((1, 5), FP32)])
    middle, end = (2 / math.sqrt(math.pi), 0.0) if op == "erf_dx" else (0.5, 1.0)
    np.testing.assert_allclose(found[0], [0.0, 0.0, middle, end, end], atol=1e-6)


def test_data_and_bias_of_any_type() -> None:
    x, b = np.array([[-3, 2**20]], np.int32).repeat(4, 0), numbers(4, 1, dtype=BF16)
    (found,) = on_chip(
        lambda out, x, b: nisa.activation(dst=out, op=nl.copy, data=x, scale=0.5, bias=b),
        x,
        b,
        outputs=[((4, 2), FP32)],
    )
    assert same_bits(found, wide(x) * np.float32(0.5) + wide(b))
