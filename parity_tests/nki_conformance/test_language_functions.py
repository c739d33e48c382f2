"""nki.language's functions of tiles: element by element, reductions, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import BF16, FP8, FP16, FP32, Check, empty, numbers, on_chip, product, same_bits, tile

U8, U32, I32 = np.dtype(np.uint8), np.dtype(np.uint32), np.dtype(np.int32)


def computed(function: Callable[..., Any], *inputs: np.ndarray, dtype: Any = FP32, shape: Any = None) -> np.ndarray:
    """What `function(*tiles)` returns, a tile of `shape` (default: the first input's) and `dtype`."""

    def body(out: Any, *tiles: Any) -> None:
        result = function(*tiles)
        assert (result.dtype, result.shape, result.buffer) == (out.dtype, out.shape, nl.sbuf)
        nisa.tensor_copy(dst=out, src=result)

    (found,) = on_chip(body, *inputs, outputs=[(inputs[0].shape if shape is None else shape, dtype)])
    return found


BINARY = {
    **{
        name: getattr(np, name)
        for name in ("add", "subtract", "multiply", "maximum", "minimum", "equal", "not_equal", "greater", "less")
    },
    **{name: getattr(np, name) for name in ("greater_equal", "less_equal", "logical_and", "logical_or", "logical_xor")},
}


@pytest.mark.parametrize("name", BINARY)
def test_binary_functions_of_two_tiles_and_of_a_tile_and_a_number(name: str) -> None:
    x, y = np.rint(numbers(16, 3, 7)), np.rint(numbers(16, 3, 7, seed=1))
    function, reference = getattr(nl, name), BINARY[name]
    assert same_bits(computed(function, x, y), reference(x, y).astype(np.float32))
    assert same_bits(computed(lambda x: function(x, 2.0), x), reference(x, np.float32(2)).astype(np.float32))
    assert same_bits(computed(lambda x: function(2.0, x), x), reference(np.float32(2), x).astype(np.float32))


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"])
def test_bitvec_functions(name: str) -> None:
    x = np.arange(24, dtype=np.int32).reshape(4, 6) * 411 + 5
    assert same_bits(computed(lambda x: getattr(nl, name)(x, 3), x, dtype=I32), getattr(np, name)(x, np.int32(3)))


UNARY = {
    **{name: getattr(np, name) for name in ("abs", "square", "exp", "tanh", "sin", "cos", "tan", "floor", "ceil")},
    **{name: getattr(np, name) for name in ("trunc", "sign", "negative", "logical_not")},
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "copy": lambda x: x,
}


@pytest.mark.parametrize("name", UNARY)
def test_unary_functions(name: str) -> None:
    wide = name in ("sin", "cos", "floor", "ceil", "trunc")
    x = numbers(16, 25, low=-200.0 if wide else -1.4, high=200.0 if wide else 1.4)
    x[0, :4] = (-2.5, 2.5, 0.0, 1.0) if wide else (0.5, 0.0, -0.5, 1.0)
    expected = UNARY[name](x.astype(np.float64)).astype(np.float64)
    np.testing.assert_allclose(computed(getattr(nl, name), x), expected, rtol=3e-6, atol=1e-5 if wide else 1e-6)
    assert not np.allclose(np.roll(expected, 1), expected, rtol=3e-6, atol=1e-5)


@pytest.mark.parametrize("name", ["log", "sqrt", "rsqrt", "reciprocal"])
def test_unary_functions_of_positive_numbers(name: str) -> None:
    x = numbers(8, 9, low=0.1, high=7.0)
    reference = {"log": np.log, "sqrt": np.sqrt, "rsqrt": lambda x: x**-0.5, "reciprocal": lambda x: 1 / x}[name]
    np.testing.assert_allclose(computed(getattr(nl, name), x), reference(x.astype(np.float64)), rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [(BF16, BF16, BF16), (BF16, FP32, FP32), (BF16, FP16, FP32), (FP8, BF16, BF16), (I32, FP16, FP16), (U8, I32, I32)],
)
def test_the_result_has_the_wider_type_unless_asked_otherwise(left: Any, right: Any, result: Any) -> None:
    x, y = np.ones((4, 3), np.float32).astype(left), np.full((4, 3), 2, np.float32).astype(right)
    assert same_bits(computed(nl.add, x, y, dtype=result), np.full((4, 3), 3, np.float32).astype(result))
    assert same_bits(computed(lambda x, y: nl.add(x, y, dtype=nl.uint8), x, y, dtype=U8), np.full((4, 3), 3, np.uint8))


REDUCTIONS = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod, "mean": np.mean}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str) -> None:
    x = numbers(16, 3, 5)
    function, reference = getattr(nl, name), REDUCTIONS[name]
    wide = x.astype(np.float64)
    last = computed(lambda x: function(x, axis=2), x, shape=(16, 3))
    np.testing.assert_allclose(last, reference(wide, axis=2), rtol=1e-6, atol=1e-6)
    both = computed(lambda x: function(x, axis=[1, 2]), x, shape=(16, 1))
    np.testing.assert_allclose(both, reference(wide, axis=(1, 2))[:, None], rtol=1e-5, atol=1e-5)
    kept = computed(lambda x: function(x, axis=(-1,), keepdims=True), x, shape=(16, 3, 1))
    assert same_bits(kept, last[:, :, None])


def test_var_keeps_the_axes_and_all_counts_zeros() -> None:
    x = numbers(16, 40)
    found = computed(lambda x: nl.var(x, axis=1), x, shape=(16, 1))
    np.testing.assert_allclose(found, x.astype(np.float64).var(axis=1, keepdims=True), rtol=1e-5)
    x[3, 7] = 0
    assert same_bits(computed(lambda x: nl.all(x, axis=1), x, shape=(16, 1)), np.all(x, axis=1)[:, None].astype(FP32))


def test_max_and_min_are_also_operators() -> None:
    x, y = numbers(16, 12), numbers(16, 12, seed=1)

    def body(out: Any, x: Any, y: Any) -> None:
        nisa.tensor_tensor(dst=x, data1=x, data2=y, op=nl.max)
        nisa.tensor_reduce(dst=out, data=x, op=nl.min, axis=1)

    (found,) = on_chip(body, x, y, outputs=[((16, 1), FP32)])
    assert same_bits(found, np.maximum(x, y).min(axis=1, keepdims=True))


def test_where() -> None:
    x, y, c = numbers(8, 6), numbers(8, 6, seed=1), (numbers(8, 6, seed=2) > 0).astype(np.float32)
    assert same_bits(computed(nl.where, c, x, y), np.where(c != 0, x, y))
    assert same_bits(computed(lambda c, x: nl.where(c, x, -1.0), c, x), np.where(c != 0, x, np.float32(-1)))
    assert not same_bits(computed(nl.where, c, x, y), np.where(c != 0, y, x))


def test_loads_stores_and_transposes() -> None:
    x = numbers(5, 12, dtype=BF16)

    def body(out: Any, turned: Any, by_tensor: Any) -> None:
        data = nl.shared_constant(x)
        assert data.shape == (5, 12)
        kept = nl.ndarray((5, 12), dtype=nl.bfloat16, buffer=nl.private_hbm)
        loaded = nl.load(data)
        nl.store(kept, loaded)
        nisa.tensor_copy(dst=out, src=nl.load(kept, dtype=nl.float32))
        nisa.tensor_copy(dst=turned, src=nl.load_transpose2d(data))
        nisa.tensor_copy(dst=by_tensor, src=nl.transpose(loaded))

    out, turned, by_tensor = on_chip(body, outputs=[((5, 12), FP32), ((12, 5), BF16), ((12, 5), BF16)])
    assert same_bits(out, x.astype(np.float32))
    assert same_bits(turned, np.ascontiguousarray(x.T))
    assert same_bits(by_tensor, turned)


def test_matmul_multiplies_the_transposed_first_operand() -> None:
    x, y = numbers(7, 5), numbers(7, 6, seed=1)
    found = computed(lambda x, y: nl.copy(nl.matmul(x, y, transpose_x=True)), x, y, shape=(5, 6))
    np.testing.assert_allclose(found, x.T.astype(np.float64) @ y, rtol=1e-6, atol=1e-6)


def test_gather_broadcast_and_expand() -> None:
    x, i = numbers(4, 2, 3), np.array([[0, 5], [1, 1], [4, 2], [3, 0]], np.uint32)
    assert same_bits(
        computed(nl.gather_flattened, x, i, shape=(4, 2)), np.take_along_axis(x.reshape(4, 6), i.astype(int), 1)
    )
    column = numbers(4, 1, 3)
    assert same_bits(
        computed(lambda x: nl.broadcast_to(x, (4, 5, 3)), column, shape=(4, 5, 3)), np.repeat(column, 5, axis=1)
    )
    assert same_bits(computed(lambda x: nl.copy(nl.expand_dims(x, -1)), x, shape=(4, 2, 3, 1)), x.reshape(4, 2, 3, 1))


def test_rand_is_spread_over_the_unit_interval_and_follows_the_seed() -> None:
    def body(first: Any, again: Any, other: Any) -> None:
        for out, seed in ((first, 1), (again, 1), (other, 2)):
            nl.random_seed(tile(1, 1, dtype=nl.int32, value=seed))
            nisa.tensor_copy(dst=out, src=nl.rand((64, 100), nl.float32))

    first, again, other = on_chip(body, outputs=[((64, 100), FP32)] * 3)
    assert same_bits(first, again)
    assert not same_bits(first, other)
    assert 0.0 <= first.min() < 0.01 < 0.99 < first.max() < 1.0
    assert abs(first.mean() - 0.5) < 0.02


def test_constants_and_identity() -> None:
    def body(out: Any, given: Any) -> None:
        nisa.tensor_copy(dst=out, src=nl.shared_identity_matrix(5))
        nl.shared_identity_matrix(5, dtype=nl.float32, dst=given)

    out, given = on_chip(body, outputs=[((5, 5), U8), ((5, 5), FP32)])
    assert same_bits(out, np.eye(5, dtype=np.uint8))
    assert same_bits(given, np.eye(5, dtype=np.float32))


def test_device_print_prints(capsys: pytest.CaptureFixture[str]) -> None:
    CHECKS["print"].hold()
    assert "weights\n[[3. 3.]\n [3. 3.]]" in capsys.readouterr().out


def test_functions_count_as_language_functions_in_errors() -> None:
    with pytest.raises(nisa.NkiValidationError) as caught:
        computed(nl.log, np.zeros((1, 1), np.float32))
    assert caught.value.instruction == "nki.language.log"
    with pytest.raises(nisa.NkiValidationError) as caught:
        computed(lambda x: nl.softmax(x), np.zeros((1, 1), np.float32))
    assert caught.value.instruction == "nki.language.softmax"


CHECKS = {
    "broadcasting a column": Check(
        lambda: nl.add(tile(4, 6), tile(4, 1)), "rejected by the compiler", lambda: nl.add(tile(4, 6), tile(4, 6))
    ),
    "divide": Check(
        lambda: nl.divide(tile(4, 6), 2.0), "multiply by the reciprocal", lambda: nl.multiply(tile(4, 6), 0.5)
    ),
    "mod": Check(lambda: nl.mod(tile(4, 6), 2.0), "rejected by the compiler", lambda: nl.floor(tile(4, 6))),
    "power of a number": Check(
        lambda: nl.power(tile(4, 6), 2.0), "takes two tiles", lambda: nl.power(tile(4, 6), tile(4, 6))
    ),
    "abs_max": Check(lambda: nl.abs_max(tile(4, 6), 1.0), "needs Trn3", lambda: nl.maximum(tile(4, 6), 1.0)),
    "rsqrt from PSUM": Check(lambda: nl.rsqrt(product()), "GpSimd engine cannot reach", lambda: nl.rsqrt(tile(4, 4))),
    "log of 0": Check(lambda: nl.log(tile(2, 2, value=0.0)), "outside", lambda: nl.log(tile(2, 2))),
    "arctan": Check(lambda: nl.arctan(tile(2, 2, value=2.0)), "outside", lambda: nl.arctan(tile(2, 2, value=1.5))),
    "matmul": Check(
        lambda: nl.matmul(tile(4, 4), tile(4, 4)),
        "fails on Trn2",
        lambda: nl.matmul(tile(4, 4), tile(4, 4), transpose_x=True),
    ),
    "softmax": Check(lambda: nl.softmax(tile(4, 6)), "fails on Trn2", lambda: nl.exp(tile(4, 6))),
    "rms_norm": Check(lambda: nl.rms_norm(tile(4, 6)), "fails on Trn2", lambda: nl.square(tile(4, 6))),
    "reducing partitions": Check(
        lambda: nl.sum(tile(4, 6), axis=0), "only trailing free axes", lambda: nl.sum(tile(4, 6), axis=1)
    ),
    "variance of a part": Check(
        lambda: nl.var(tile(4, 2, 3), axis=2), "over all free axes", lambda: nl.var(tile(4, 2, 3), axis=(1, 2))
    ),
    "repeating what is not 1": Check(
        lambda: nl.broadcast_to(tile(2, 6), (4, 6)),
        "only dimensions of size 1 are repeated",
        lambda: nl.broadcast_to(tile(1, 6), (4, 6)),
    ),
    "loading from SBUF": Check(
        lambda: nl.load(tile(4, 6)), "load reads HBM", lambda: nl.load(nl.zeros((4, 6), nl.float32, nl.hbm))
    ),
    "storing PSUM": Check(
        lambda: nl.store(nl.ndarray((4, 4), nl.float32, nl.hbm), product()),
        "a DMA reaches only HBM and SBUF",
        lambda: nl.store(nl.ndarray((4, 4), nl.float32, nl.hbm), tile(4, 4)),
    ),
    "token": Check(lambda: nl.bypass(tile(4, 6)), "no function", lambda: nl.copy(tile(4, 6))),
    "two numbers": Check(lambda: nl.add(1.0, 2.0), "expected a tile", lambda: nl.add(1.0, tile(4, 6))),
    "identity": Check(
        lambda: nl.shared_identity_matrix(129), "exceeds architecture", lambda: nl.shared_identity_matrix(128)
    ),
    "print": Check(
        lambda: nl.device_print("weights", empty(2, 2)),
        "uninitialised read",
        lambda: nl.device_print("weights", tile(2, 2, value=3.0)),
    ),
    "Trn3 type": Check(
        lambda: empty(4, 6, dtype=nl.float8_e4m3fn_x4), "needs Trn3", lambda: nl.float32 == nl.float8_e4m3fn_x4
    ),
    **{
        name: Check(lambda name=name: getattr(nl, name), instead, lambda: nl.ds(0, 2))  # type: ignore[misc]
        for name, instead in {
            "arange": "nl.ds and ap",
            "par_dim": "dimension 0",
            "dynamic_range": "nl.fori_loop",
        }.items()
    },
}


@pytest.mark.parametrize("name", CHECKS)
def test_refusals(name: str) -> None:
    CHECKS[name].hold()


def test_hasattr_sees_that_a_name_is_absent() -> None:
    assert not hasattr(nl, "arange")
    assert not hasattr(nisa, "tensor_copy_dynamic_src")
    assert not hasattr(nl, "no_such_name")
    assert hasattr(nl, "fori_loop")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3", "int32", "uint8", "int8"])
@pytest.mark.parametrize("shape", [(1,), (3, 700), (2, 3, 512)])
def test_filled_hbm_holds_the_value_everywhere(dtype: str, shape: tuple[int, ...]) -> None:
    @nki.jit
    def filled() -> Any:
        return nl.full(shape, 3, getattr(nl, dtype), buffer=nl.shared_hbm)

    found = filled()
    assert (found.shape, found.dtype) == (shape, np.dtype(getattr(nl, dtype)))
    assert (found.astype(np.float32) == 3.0).all()
