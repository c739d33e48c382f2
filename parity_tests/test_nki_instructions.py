"""Each instruction against a direct NumPy statement of what it computes: fp32 inside, one rounding to dst's type."""

from __future__ import annotations

import math
from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import BF16, FP8, FP16, FP32, numbers, on_chip, product, same_bits

FLOATS = [FP32, BF16, FP16]
PAIRS = [(FP32, FP32), (BF16, BF16), (FP16, FP16), (BF16, FP32), (FP32, BF16)]
ONE = np.float32(1.0)


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32)


def test_comparing_bits_tells_one_ulp_apart() -> None:
    x = numbers(4, 8)
    y = x.copy()
    y[3, 7] = np.nextafter(y[3, 7], np.float32(9))
    assert same_bits(x, x.copy())
    assert not same_bits(x, y)
    assert not same_bits(x, x.astype(BF16))


# Data movement


@pytest.mark.parametrize(("source", "target"), [*PAIRS, (np.dtype(np.int32), FP32), (FP32, np.dtype(np.int8))])
def test_dma_copy_converts_through_fp32(source: Any, target: Any) -> None:
    x = numbers(100, 7, low=-300, high=300).astype(source)
    (found,) = on_chip(lambda out, x: nisa.dma_copy(dst=out, src=x), x, outputs=[((100, 7), target)])
    expected = wide(x).astype(target) if target.kind != "i" else np.clip(np.rint(wide(x)), -128, 127).astype(np.int8)
    assert same_bits(found, expected)


def test_dma_copy_between_shapes_keeps_row_major_order() -> None:
    x = numbers(4, 6)
    (found,) = on_chip(lambda out, x: nisa.dma_copy(dst=out, src=x), x, outputs=[((8, 3), FP32)])
    assert same_bits(found, x.reshape(8, 3))


@pytest.mark.parametrize(("shape", "axes"), [((5, 3), (1, 0)), ((5, 3, 2), (2, 1, 0)), ((5, 3, 2, 4), (3, 1, 2, 0))])
def test_dma_transpose(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = numbers(*shape, dtype=BF16)
    expected = np.ascontiguousarray(x.transpose(axes))
    (found,) = on_chip(lambda out, x: nisa.dma_transpose(dst=out, src=x), x, outputs=[(expected.shape, BF16)])
    assert same_bits(found, expected)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_tensor_copy(source: Any, target: Any) -> None:
    x = numbers(128, 9, dtype=source)
    (found,) = on_chip(lambda out, x: nisa.tensor_copy(dst=out, src=x), x, outputs=[((128, 9), target)])
    assert same_bits(found, wide(x).astype(target))


def test_tensor_copy_of_equal_types_keeps_the_bits_of_nan() -> None:
    x = np.array([[0x7FC00001, 0xFFC12345]], np.uint32).view(np.float32)
    (found,) = on_chip(lambda out, x: nisa.tensor_copy(dst=out, src=x), x, outputs=[((1, 2), FP32)])
    assert same_bits(found, x)


@pytest.mark.parametrize("reverse", [False, True])
def test_tensor_copy_predicated(reverse: bool) -> None:
    old, new, predicate = numbers(8, 5), numbers(8, 5, seed=1), np.arange(40, dtype=np.uint8).reshape(8, 5) % 3

    def body(out: Any, old: Any, new: Any, predicate: Any) -> None:
        nisa.tensor_copy(dst=out, src=old)
        nisa.tensor_copy_predicated(dst=out, src=new, predicate=predicate, reverse_pred=reverse)

    (found,) = on_chip(body, old, new, predicate, outputs=[((8, 5), FP32)])
    assert same_bits(found, np.where((predicate != 0) != reverse, new, old))


@pytest.mark.parametrize(
    ("dtype", "value"), [(FP32, 0.1), (BF16, 0.1), (np.dtype(np.int32), -7), (np.dtype(np.uint8), 255)]
)
def test_memset(dtype: Any, value: Any) -> None:
    (found,) = on_chip(lambda out: nisa.memset(dst=out, value=value), outputs=[((4, 3), dtype)])
    assert same_bits(
        found, np.full((4, 3), value, np.float32 if dtype.kind != "i" and dtype.kind != "u" else dtype).astype(dtype)
    )


@pytest.mark.parametrize("dtype", [np.dtype(np.int32), FP32, BF16, np.dtype(np.uint8)])
def test_iota(dtype: Any) -> None:
    def body(out: Any) -> None:
        nisa.iota(dst=out, pattern=[[10, 3], [-1, 4]], offset=5, channel_multiplier=100)

    (found,) = on_chip(body, outputs=[((6, 12), dtype)])
    p, i, j = np.meshgrid(np.arange(6), np.arange(3), np.arange(4), indexing="ij")
    values = (5 + 100 * p + 10 * i - j).reshape(6, 12).astype(np.int32)
    expected = (
        np.clip(values, 0, 255).astype(np.uint8) if dtype == np.uint8 else values.astype(np.float32).astype(dtype)
    )
    assert same_bits(found, expected)


# Tensor engine


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


@pytest.mark.parametrize("dtype", [FP32, BF16])
def test_nc_transpose_by_the_tensor_engine(dtype: Any) -> None:
    x = numbers(96, 4, 32, dtype=dtype)

    def body(out: Any, x: Any) -> None:
        psum = nl.ndarray((128, 96), dtype=dtype, buffer=nl.psum)
        nisa.nc_transpose(dst=psum, data=x)
        nisa.tensor_copy(dst=out, src=psum)

    (found,) = on_chip(body, x, outputs=[((128, 96), dtype)])
    assert same_bits(found, np.ascontiguousarray(x.reshape(96, 128).T))


def test_nc_transpose_by_the_vector_engine() -> None:
    x = numbers(32, 20)
    (found,) = on_chip(
        lambda out, x: nisa.nc_transpose(dst=out, data=x, engine=nisa.engine.vector), x, outputs=[((20, 32), FP32)]
    )
    assert same_bits(found, np.ascontiguousarray(x.T))


# Element-wise


ARITHMETIC = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}


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


@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize("reverse", [False, True])
def test_scalar_tensor_tensor(source: Any, target: Any, reverse: bool) -> None:
    x, s, y = numbers(128, 13, dtype=source), numbers(128, 1, seed=1), numbers(128, 13, dtype=source, seed=2)
    (found,) = on_chip(
        lambda out, x, s, y: nisa.scalar_tensor_tensor(
            dst=out, data=x, op0=nl.multiply, operand0=s, op1=nl.subtract, operand1=y, reverse1=reverse
        ),
        x,
        s,
        y,
        outputs=[((128, 13), target)],
    )
    scaled = wide(x) * s
    expected = wide(y) - scaled if reverse else scaled - wide(y)
    assert same_bits(found, expected.astype(target))


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_reciprocal(source: Any, target: Any) -> None:
    x = numbers(16, 5, dtype=source, low=0.5, high=9)
    (found,) = on_chip(lambda out, x: nisa.reciprocal(dst=out, data=x), x, outputs=[((16, 5), target)])
    assert same_bits(found, (ONE / wide(x)).astype(target))


# Scalar engine


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


def test_activation_reduce() -> None:
    x = numbers(8, 12)
    _, total = on_chip(
        lambda out, total, x: nisa.activation_reduce(
            dst=out, op=nl.square, data=x, reduce_op=nl.add, reduce_res=total, scale=0.5
        ),
        x,
        outputs=[((8, 12), FP32), ((8, 1), FP32)],
    )
    assert same_bits(total, np.square(x * np.float32(0.5)).sum(axis=1, keepdims=True))


# Reductions


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["add", "multiply", "maximum", "minimum"])
def test_tensor_reduce(op: str, dtype: Any) -> None:
    x = numbers(128, 3, 10, dtype=dtype)
    last, both = on_chip(
        lambda last, both, x: (
            nisa.tensor_reduce(dst=last, op=getattr(nl, op), data=x, axis=2),
            nisa.tensor_reduce(dst=both, op=getattr(nl, op), data=x, axis=(1, 2), negate=True),
        ),
        x,
        outputs=[((128, 3), dtype), ((128, 1), FP32)],
    )
    ufunc = ARITHMETIC[op]
    assert same_bits(last, ufunc.reduce(wide(x), axis=2).astype(dtype))
    assert same_bits(both, -ufunc.reduce(wide(x).reshape(128, 30), axis=1)[:, None])


def test_tensor_reduce_on_bits() -> None:
    x = np.arange(1, 25, dtype=np.uint8).reshape(4, 6)
    (found,) = on_chip(
        lambda out, x: nisa.tensor_reduce(dst=out, op=nl.bitwise_xor, data=x, axis=1),
        x,
        outputs=[((4, 1), np.dtype(np.uint8))],
    )
    assert same_bits(found, np.bitwise_xor.reduce(x, axis=1)[:, None])


@pytest.mark.parametrize("op", ["add", "multiply", "maximum", "minimum"])
def test_tensor_scalar_reduce(op: str) -> None:
    x, s = numbers(128, 40, dtype=BF16), numbers(128, 1, seed=1)

    def body(out: Any, result: Any, x: Any, s: Any) -> None:
        nisa.tensor_scalar_reduce(dst=out, data=x, op0=nl.add, operand0=s, reduce_op=getattr(nl, op), reduce_res=result)

    found, result = on_chip(body, x, s, outputs=[((128, 40), BF16), ((128, 1), FP32)])
    values = wide(x) + s
    assert same_bits(found, values.astype(BF16))
    assert same_bits(result, ARITHMETIC[op].reduce(values, axis=1, keepdims=True))


def test_tensor_scalar_reduce_continues_from_an_initial_value() -> None:
    x, start = numbers(4, 6), numbers(4, 1, seed=1)

    def body(out: Any, result: Any, x: Any, start: Any) -> None:
        nisa.tensor_scalar_reduce(
            dst=out,
            data=x,
            op0=nl.multiply,
            operand0=2.0,
            reduce_op=nl.add,
            reduce_res=result,
            reduce_cmd=nisa.reduce_cmd.load_reduce,
            reduce_init=start,
            reduce_res_negate=True,
        )

    _, result = on_chip(body, x, start, outputs=[((4, 6), FP32), ((4, 1), FP32)])
    assert same_bits(result, -(start + (x * 2).sum(axis=1, keepdims=True)))


@pytest.mark.parametrize("reverse", [False, True])
def test_tensor_tensor_scan(reverse: bool) -> None:
    x, y, start = numbers(8, 7), numbers(8, 7, seed=1), numbers(8, 1, seed=2)

    def body(out: Any, x: Any, y: Any, start: Any) -> None:
        nisa.tensor_tensor_scan(
            dst=out, data0=x, data1=y, initial=start, op0=nl.multiply, op1=nl.subtract, reverse1=reverse
        )

    (found,) = on_chip(body, x, y, start, outputs=[((8, 7), FP32)])
    expected = np.empty_like(x)
    running = start[:, 0]
    for i in range(7):
        running = y[:, i] - x[:, i] * running if reverse else x[:, i] * running - y[:, i]
        expected[:, i] = running
    assert same_bits(found, expected)


def test_bn_stats_and_bn_aggr_give_mean_and_variance() -> None:
    x = numbers(128, 700)

    def body(stats: Any, out: Any, x: Any) -> None:
        for part in range(2):
            nisa.bn_stats(dst=stats[:, 6 * part : 6 * part + 6], data=x[:, 350 * part : 350 * part + 350])
        nisa.bn_aggr(dst=out, data=stats)

    stats, found = on_chip(body, x, outputs=[((128, 12), FP32), ((128, 2), FP32)])
    np.testing.assert_allclose(found[:, 0], x.mean(axis=1, dtype=np.float64), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[:, 1], x.var(axis=1, dtype=np.float64), rtol=1e-5)
    even = x[:, 0:350:2].astype(np.float64)
    np.testing.assert_allclose(
        stats[:, 0:3], np.stack([np.full(128, 175), even.mean(1), even.var(1) * 175], 1), rtol=1e-4
    )


# Selections


def test_affine_select_makes_a_causal_mask() -> None:
    x = numbers(8, 16, dtype=BF16)

    def body(out: Any, x: Any) -> None:
        nisa.affine_select(
            dst=out,
            pattern=[[-1, 16]],
            channel_multiplier=1,
            offset=4,
            on_true_tile=x,
            on_false_value=-9984.0,
            cmp_op=nl.greater_equal,
        )

    (found,) = on_chip(body, x, outputs=[((8, 16), BF16)])
    visible = np.arange(16)[None, :] <= 4 + np.arange(8)[:, None]
    assert same_bits(found, np.where(visible, wide(x), np.float32(-9984.0)).astype(BF16))


def test_range_select_keeps_a_window_and_its_maximum() -> None:
    x = numbers(4, 10)
    low, high = np.array([[0], [2], [3], [9]], np.float32), np.array([[9], [5], [4], [10]], np.float32)

    def body(out: Any, top: Any, x: Any, low: Any, high: Any) -> None:
        nisa.range_select(
            dst=out,
            on_true_tile=x,
            comp_op0=nl.greater_equal,
            comp_op1=nl.less,
            bound0=low,
            bound1=high,
            reduce_res=top,
            range_start=1,
        )

    found, top = on_chip(body, x, low, high, outputs=[((4, 10), FP32), ((4, 1), FP32)])
    position = 1 + np.arange(10, dtype=np.float32)
    expected = np.where((position >= low) & (position < high), x, np.finfo(np.float32).min)
    assert same_bits(found, expected)
    assert same_bits(top, expected.max(axis=1, keepdims=True))


@pytest.mark.parametrize("reverse", [False, True])
def test_select_reduce(reverse: bool) -> None:
    x, other = numbers(8, 9), numbers(8, 1, seed=1)
    predicate = (np.arange(72).reshape(8, 9) % 2).astype(np.uint8)

    def body(out: Any, top: Any, x: Any, other: Any, predicate: Any) -> None:
        nisa.select_reduce(
            dst=out,
            predicate=predicate,
            on_true=x,
            on_false=other,
            reduce_res=top,
            reduce_cmd=nisa.reduce_cmd.reset_reduce,
            reverse_pred=reverse,
        )

    found, top = on_chip(body, x, other, predicate, outputs=[((8, 9), FP32), ((8, 1), FP32)])
    expected = np.where((predicate != 0) != reverse, x, other)
    assert same_bits(found, expected)
    assert same_bits(top, expected.max(axis=1, keepdims=True))


# Conversions


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


def test_product_in_psum_feeds_the_vector_engine() -> None:
    (found,) = on_chip(
        lambda out: nisa.tensor_scalar(dst=out, data=product(4, 6, 8), op0=nl.multiply, operand0=0.5),
        outputs=[((4, 6), FP32)],
    )
    assert same_bits(found, np.full((4, 6), 4.0, np.float32))
