"""Views of tensors: what they show, that they alias, and which ones are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import BF16, FP32, numbers, on_chip, run, same_bits, tile

X = np.arange(4 * 2 * 6, dtype=np.float32).reshape(4, 2, 6)

ON_CHIP_VIEWS: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "slices": (lambda x: x[1:3, 0:2, 1:6:2], X[1:3, 0:2, 1:6:2]),
    "ellipsis": (lambda x: x[..., 2:4], X[..., 2:4]),
    "ds": (lambda x: x[nl.ds(2, 2), :, nl.ds(1, 3)], X[2:4, :, 1:4]),
    "int on a free dimension": (lambda x: x[:, 1], X[:, 1]),
    "int keeps partitions": (lambda x: x[2], X[2:3]),
    "negative int": (lambda x: x[-1, :, -2], X[3:4, :, 4]),
    "two ints keep two dimensions": (lambda x: x[:, 1, 3], X[:, 1, 3:4]),
    "slice method": (lambda x: x.slice(2, 1, 5, 2), X[:, :, 1:5:2]),
    "select": (lambda x: x.select(1, 1), X[:, 1]),
    "permute": (lambda x: x.permute((0, 2, 1)), X.transpose(0, 2, 1)),
    "expand_dim": (lambda x: x[:, 0].expand_dim(1), X[:, 0:1]),
    "squeeze_dim": (lambda x: x[:, 0:1].squeeze_dim(1), X[:, 0]),
    "broadcast": (lambda x: x[:, :, 0:1].broadcast(2, 3), np.repeat(X[:, :, 0:1], 3, 2)),
    "reshape_dim": (lambda x: x.reshape_dim(2, (3, -1)), X.reshape(4, 2, 3, 2)),
    "flatten_dims": (lambda x: x.flatten_dims(1, 2), X.reshape(4, 12)),
    "reshape": (lambda x: x.reshape((4, 3, 4)), X.reshape(4, 3, 4)),
    "rearrange": (
        lambda x: x.rearrange(("p", "a", ("h", "w")), ("p", "h", "a", "w"), {"h": 3}),
        X.reshape(4, 2, 3, 2).transpose(0, 2, 1, 3),
    ),
    "ap": (
        lambda x: x.ap([[12, 3], [6, 2], [2, 3]], offset=13),
        np.lib.stride_tricks.as_strided(X.reshape(48)[13:], (3, 2, 3), (48, 24, 8)),
    ),
    "ap keeps the view's offset": (lambda x: x[0:4, 1].ap([[12, 4], [1, 2]]), X[:, 1, 0:2]),
    "ap with stride 0": (lambda x: x.ap([[12, 4], [0, 3], [1, 2]], offset=0), np.repeat(X[:, 0:1, 0:2], 3, 1)),
    "view": (lambda x: x.view(nl.uint16), X.view(np.uint16)),
}


@pytest.mark.parametrize("name", ON_CHIP_VIEWS)
def test_a_view_on_chip_shows_the_right_elements(name: str) -> None:
    view, expected = ON_CHIP_VIEWS[name]
    (found,) = on_chip(
        lambda out, x: nisa.dma_copy(dst=out, src=view(x)), X, outputs=[(expected.shape, expected.dtype)]
    )
    assert same_bits(found, expected)
    assert not same_bits(found, np.roll(expected, 1))


def test_an_int_drops_a_dimension_of_an_hbm_tensor() -> None:
    def body() -> None:
        hbm = nl.ndarray((3, 4), dtype=nl.float32, buffer=nl.private_hbm)
        assert hbm[1].shape == (4,)
        assert hbm[1, 2].shape == (1,)
        assert hbm[1:2].shape == (1, 4)
        assert hbm.permute((1, 0)).shape == (4, 3)
        assert hbm.reshape((12,)).shape == (12,)
        assert hbm[::2, 1].shape == (2,)

    run(body)


def test_a_view_aliases_its_tensor() -> None:
    def body(out: Any, x: Any) -> None:
        nisa.tensor_copy(dst=out, src=x)
        nisa.memset(dst=out.permute((0, 2, 1))[:, 1:2, :], value=-1.0)

    (found,) = on_chip(body, X, outputs=[(X.shape, FP32)])
    expected = X.copy()
    expected[:, :, 1] = -1.0
    assert same_bits(found, expected)


def test_attributes() -> None:
    def body() -> None:
        x = nl.ndarray((4, 2, 6), dtype=nl.bfloat16, buffer=nl.sbuf, name="x")
        part = x[1:3, :, 2:6:2]
        assert (part.shape, part.strides, part.offset, part.ndim, part.size) == ((2, 2, 2), (12, 6, 2), 14, 3, 8)
        assert (part.dtype, part.buffer, part.name) == (nl.bfloat16, nl.sbuf, "x")
        assert part.get_pattern() == [[12, 2], [6, 2], [2, 2]]
        assert x.is_contiguous()
        assert not part.is_contiguous()
        assert not x.is_indirect()
        assert nl.is_on_chip(x.buffer)
        assert nl.is_sbuf(x.buffer)
        assert not nl.is_hbm(x.buffer)

    run(body)


def test_types_equal_numpys() -> None:
    assert nl.float32 == np.float32
    assert nl.bfloat16 == BF16
    assert nl.int32 != np.int64


def test_a_weight_row_is_replicated_over_partitions_by_a_stride_0_pattern() -> None:
    w = numbers(5)

    def body(out: Any) -> None:
        hbm = nl.ndarray((5,), dtype=nl.float32, buffer=nl.private_hbm)
        row = tile(1, 5)
        nisa.dma_copy(dst=hbm, src=row)
        nisa.dma_copy(dst=out, src=hbm.ap(pattern=[[0, 128], [1, 5]], offset=0))

    (found,) = on_chip(body, outputs=[((128, 5), FP32)])
    assert same_bits(found, np.ones((128, 5), np.float32))
    assert not same_bits(found, np.tile(w, (128, 1)))


def test_constants_and_likes() -> None:
    def body(zero: Any, one: Any, seven: Any) -> None:
        nisa.tensor_copy(dst=zero, src=nl.zeros((4, 3), nl.float32))
        nisa.tensor_copy(dst=one, src=nl.ones((4, 3), nl.bfloat16))
        nisa.tensor_copy(dst=seven, src=nl.full((4, 3), 7, nl.int32))
        assert nl.empty_like(zero).shape == (4, 3)
        nisa.tensor_copy(dst=zero, src=nl.zeros_like(zero, dtype=nl.bfloat16))

    zero, one, seven = on_chip(body, outputs=[((4, 3), FP32), ((4, 3), BF16), ((4, 3), np.dtype(np.int32))])
    assert same_bits(zero, np.zeros((4, 3), np.float32))
    assert same_bits(one, np.ones((4, 3), BF16))
    assert same_bits(seven, np.full((4, 3), 7, np.int32))


def test_new_memory_is_poisoned() -> None:
    def body() -> None:
        assert np.isnan(nl.ndarray((4, 3), dtype=nl.bfloat16)._array.astype(np.float32)).all()
        assert (nl.ndarray((4, 3), dtype=nl.int8)._array == 4).all()

    run(body)


Region = tuple[slice, ...]


def writes_and_reads(seed: int, shape: tuple[int, ...]) -> list[tuple[Region, Region, bool]]:
    """Random regions: one to write, one to read then, and whether all of the latter has been written by then."""
    random = np.random.default_rng(seed)

    def region() -> Region:
        bounds = [np.sort(random.choice(size + 1, 2, replace=False)) for size in shape]
        return tuple(slice(int(low), int(high)) for low, high in bounds)

    written = np.zeros(shape, bool)
    steps = []
    for _ in range(8):
        write, read = region(), region()
        written[write] = True
        steps.append((write, read, bool(written[read].all())))
    return steps


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("shape", [(4, 6), (3, 2, 5)])
def test_reads_are_refused_exactly_where_nothing_was_written(seed: int, shape: tuple[int, ...]) -> None:
    steps = writes_and_reads(seed, shape)

    def body() -> None:
        target = nl.ndarray(shape, dtype=nl.float32, buffer=nl.private_hbm)
        source = nl.zeros(shape, nl.float32, buffer=nl.private_hbm)
        for write, read, allowed in steps:
            nisa.dma_copy(dst=target[write], src=source[write])
            addends = [target[read], source[read]]
            if allowed:
                nisa.dma_compute(dst=source[read], srcs=addends, reduce_op=nl.add)
            else:
                with pytest.raises(nki.NkiValidationError, match="uninitialised read"):
                    nisa.dma_compute(dst=source[read], srcs=addends, reduce_op=nl.add)

    run(body)


@pytest.mark.parametrize("shape", [(4, 6), (3, 2, 5)])
def test_the_random_reads_are_of_both_kinds(shape: tuple[int, ...]) -> None:
    outcomes = [allowed for seed in range(12) for _, _, allowed in writes_and_reads(seed, shape)]
    assert 10 < sum(outcomes) < len(outcomes) - 10
