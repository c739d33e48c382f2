"""Chains of views show what the same chain shows in NumPy, on the same memory; what NumPy would copy is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import nki
import nki.language as nl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parity_tests.nki_program import run

SHAPES = [(4, 6), (8, 2, 6), (4, 4, 3, 2), (2, 12, 4)]
Draw = Any
Step = tuple[Callable[[Any], Any], np.ndarray]
"""What makes a view of a view, and the same of the array."""


def same(view: Any) -> Any:
    return view


def sliced(draw: Draw, array: np.ndarray, fixed: int) -> Step:
    """Slices, some with a step, of every dimension; of partitions without one."""
    parts = []
    for dim, size in enumerate(array.shape):
        start = draw(st.integers(0, size - 1))
        stop = draw(st.integers(start + 1, size))
        parts.append(slice(start, stop, draw(st.integers(1, 3)) if dim >= fixed else None))
    index = tuple(parts[: draw(st.integers(1, len(parts)))])
    return lambda view: view[index], array[index]


def indexed(draw: Draw, array: np.ndarray, fixed: int) -> Step:
    """An int, maybe negative, of a dimension that is dropped then."""
    if array.ndim <= 1 + fixed:
        return same, array
    dim = draw(st.integers(fixed, array.ndim - 1))
    position = draw(st.integers(-array.shape[dim], array.shape[dim] - 1))
    index = (*[slice(None)] * dim, position)
    if draw(st.booleans()):
        return lambda view: view.select(dim, position), array[index]
    return lambda view: view[index], array[index]


def permuted(draw: Draw, array: np.ndarray, fixed: int) -> Step:
    order = [*range(fixed), *draw(st.permutations(range(fixed, array.ndim)))]
    return lambda view: view.permute(order), array.transpose(order)


def split(draw: Draw, array: np.ndarray, fixed: int) -> Step:
    """A dimension in two, with one size left to be found."""
    if array.ndim == 5:
        return same, array
    dim = draw(st.integers(fixed, array.ndim - 1))
    size = array.shape[dim]
    inner = draw(st.sampled_from([part for part in range(1, size + 1) if size % part == 0]))
    shape = (*array.shape[:dim], size // inner, inner, *array.shape[dim + 1 :])
    return lambda view: view.reshape_dim(dim, (-1, inner)), array.reshape(shape)


def merged(draw: Draw, array: np.ndarray, fixed: int) -> Step:
    if array.ndim <= 1 + fixed:
        return same, array
    start = draw(st.integers(fixed, array.ndim - 1))
    end = draw(st.integers(start, array.ndim - 1))
    shape = (*array.shape[:start], math.prod(array.shape[start : end + 1]), *array.shape[end + 1 :])
    return lambda view: view.flatten_dims(start, end), array.reshape(shape)


def reshaped(draw: Draw, array: np.ndarray, fixed: int) -> Step:
    lead = array.shape[:fixed]
    last = draw(st.sampled_from([part for part in (1, 2, 3, 4) if array.size // math.prod(lead) % part == 0]))
    return lambda view: view.reshape((*lead, -1, last)), array.reshape((*lead, -1, last))


def rearranged(draw: Draw, array: np.ndarray, fixed: int) -> Step:
    """The last dimension in two, the new ones in front of the others."""
    if array.ndim == 5 or array.ndim <= fixed:
        return same, array
    names = [f"d{dim}" for dim in range(array.ndim)]
    size = array.shape[-1]
    inner = draw(st.sampled_from([part for part in (1, 2, 3) if size % part == 0]))
    wanted = [*names[:fixed], "outer", "inner", *names[fixed:-1]]
    apart = array.reshape((*array.shape[:-1], size // inner, inner))
    order = [*range(fixed), apart.ndim - 2, apart.ndim - 1, *range(fixed, apart.ndim - 2)]
    source = (*names[:-1], ("outer", "inner"))
    return lambda view: view.rearrange(source, tuple(wanted), {"inner": inner}), apart.transpose(order)


def expanded(draw: Draw, array: np.ndarray, fixed: int) -> Step:
    """A new dimension, repeated or removed again."""
    if array.ndim == 5:
        return same, array
    dim = draw(st.integers(max(fixed, 0), array.ndim))
    if draw(st.booleans()):
        return lambda view: view.expand_dim(dim).squeeze_dim(dim), array
    times = draw(st.integers(1, 3))
    repeated = np.broadcast_to(np.expand_dims(array, dim), (*array.shape[:dim], times, *array.shape[dim:]))
    return lambda view: view.expand_dim(dim).broadcast(dim, times), repeated


def reread(draw: Draw, array: np.ndarray, fixed: int) -> Step:
    """The same bytes as another type."""
    wanted = draw(st.sampled_from([np.float32, np.uint16, np.int8]))
    if array.strides[-1] != array.itemsize or array.shape[-1] * array.itemsize % np.dtype(wanted).itemsize:
        return same, array
    return lambda view: view.view(wanted), array.view(wanted)


STEPS = [sliced, indexed, permuted, split, merged, reshaped, rearranged, expanded, reread]


@pytest.mark.parametrize("buffer", [nl.sbuf, nl.private_hbm])
@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(data=st.data(), shape=st.sampled_from(SHAPES))
def test_a_chain_of_views_is_numpys(buffer: Any, data: Any, shape: tuple[int, ...]) -> None:
    fixed = int(buffer is nl.sbuf)  # the partition dimension stays

    def body() -> None:
        tensor = nl.ndarray(shape, dtype=nl.float32, buffer=buffer)
        memory = tensor._storage.array
        memory[...] = np.arange(memory.size, dtype=np.float32).reshape(shape)
        view, array = tensor, memory
        for _ in range(data.draw(st.integers(1, 5), "length")):
            make, array = data.draw(st.sampled_from(STEPS), "step")(data.draw, array, fixed)
            if not np.shares_memory(array, memory):
                with pytest.raises(nki.NkiValidationError, match="without copying"):
                    make(view)
                return
            view = make(view)
            if fixed and array.ndim == 1:  # on chip a free dimension stays
                array = array[:, None]
        assert view.shape == array.shape
        assert (view.dtype, view.ndim, view.size) == (array.dtype, array.ndim, array.size)
        assert view._array.ctypes.data == array.ctypes.data
        assert [s for s, size in zip(view._array.strides, array.shape, strict=True) if size > 1] == [
            s for s, size in zip(array.strides, array.shape, strict=True) if size > 1
        ]
        assert np.array_equal(view._array, array)
        assert view.offset == (array.ctypes.data - memory.ctypes.data) // array.itemsize
        inside = array[0] if fixed else array
        assert view.is_contiguous() == inside.flags.c_contiguous
        if array.size > 1 and min(array.strides) >= 0 and array.flags.writeable:
            array[(0,) * array.ndim] = 7
            assert view._array[(0,) * array.ndim] == 7

    run(body)


@settings(max_examples=80, deadline=None, derandomize=True, database=None)
@given(
    offset=st.integers(0, 11),
    pattern=st.lists(st.tuples(st.integers(-3, 7), st.integers(1, 4)), min_size=1, max_size=4),
    moved=st.one_of(st.none(), st.integers(0, 5)),
)
def test_a_pattern_shows_the_elements_that_it_counts(
    offset: int, pattern: list[tuple[int, int]], moved: int | None
) -> None:
    """`ap` in HBM, static or moved by a run-time scalar: element by element from its definition."""

    def body() -> None:
        tensor = nl.ndarray((8, 6), dtype=nl.float32, buffer=nl.private_hbm)
        memory = tensor._storage.array.reshape(-1)
        memory[...] = np.arange(48)
        tensor._storage.note_write(tensor)
        counts = tuple(count for _, count in pattern)
        start = offset + 6 * (moved or 0)
        places = np.full(counts, start)
        for axis, (step, count) in enumerate(pattern):
            places += (step * np.arange(count)).reshape([-1 if dim == axis else 1 for dim in range(len(counts))])
        more = {} if moved is None else {"scalar_offset": _holding(moved)}
        if places.max() >= 48 or places.min() < (6 * moved if moved else 0):
            with pytest.raises(nki.NkiValidationError, match=r"(begins|ends) at element|lies outside"):
                _ = tensor.ap(pattern, offset=offset, **more)._array
        else:
            view = tensor.ap(pattern, offset=offset, **more)
            assert view.shape == counts
            assert np.array_equal(view._array, memory[places])
            unique = np.unique(places).size == places.size
            assert unique or view._repeats

    run(body)


def _holding(value: int) -> Any:
    made = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    made._array[...] = value
    made._storage.note_write(made)
    return made
