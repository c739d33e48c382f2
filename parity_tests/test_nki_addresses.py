"""Run-time addresses: gather, scatter and their sums by DMA, views moved by a run-time scalar, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
from nki._core import shapes_only

from parity_tests.nki_program import BF16, numbers, run, same_bits, tile, use

SKIP = nisa.oob_mode.skip
DGE = nisa.dge_mode
TABLE = numbers(40, 6)
ROWS = np.array([3, 39, 0, 17, 3], np.int32)[:, None]
DISTINCT = np.array([3, 39, 0, 17, 5], np.int32)[:, None]


def loaded(array: Any) -> Any:
    """`array` in an SBUF tile of its shape."""
    made = nl.ndarray(array.shape, dtype=array.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=made, src=array)
    return made


def index(*values: int, dtype: Any = nl.int32) -> Any:
    """An SBUF tile (P, 1) that holds `values`."""
    made = nl.ndarray((1, len(values)), dtype=dtype, buffer=nl.sbuf)
    for position, value in enumerate(values):
        nisa.memset(dst=made[:, position : position + 1], value=value)
    hbm = nl.ndarray((len(values), 1), dtype=dtype, buffer=nl.private_hbm)
    nisa.dma_copy(dst=hbm, src=made)
    return loaded(hbm)


def launch(body: Callable[..., Any], *arrays: np.ndarray, like: np.ndarray | None = None, lnc: int = 1) -> np.ndarray:
    """Runs `body(out, *arrays)`, all of it in HBM, and returns `out`, of the shape and type of `like`."""
    wanted = arrays[0] if like is None else like

    @nki.jit
    def program(*tensors: Any) -> Any:
        out = nl.ndarray(wanted.shape, dtype=wanted.dtype, buffer=nl.shared_hbm)
        body(out, *tensors)
        return out

    found: np.ndarray = program[lnc](*arrays)
    return found


ROW_VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "ap": lambda table, offsets: table.ap([[6, offsets.shape[0]], [1, 6]], vector_offset=offsets),
    "ap with any leading step": lambda table, offsets: table.ap([[1, offsets.shape[0]], [1, 6]], 0, None, offsets),
    "vector_select": lambda table, offsets: table.vector_select(0, offsets),
}


@pytest.mark.parametrize("view", ROW_VIEWS)
@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_rows_are_gathered_by_a_vector_of_offsets(view: str, dtype: Any) -> None:
    def body(out: Any, table: Any, offsets: Any) -> None:
        rows = ROW_VIEWS[view](table, loaded(offsets))
        assert rows.is_indirect()
        assert rows.shape == (5, 6)
        gathered = nl.ndarray((5, 6), dtype=table.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=gathered, src=rows)
        nisa.dma_copy(dst=out, src=gathered)

    found = launch(body, TABLE, ROWS.astype(dtype), like=TABLE[:5])
    assert same_bits(found, TABLE[ROWS[:, 0]])
    assert not same_bits(found, TABLE[DISTINCT[:, 0]])


CHOSEN = TABLE[ROWS[:, 0]]
FURTHER_VIEWS: dict[str, tuple[Callable[[Any, Any], Any], np.ndarray]] = {
    "strided": (lambda t, o: t.ap([[6, 5], [2, 3]], offset=1, vector_offset=o), CHOSEN[:, 1::2]),
    "sliced": (lambda t, o: t.vector_select(0, o)[:, 2:5], CHOSEN[:, 2:5]),
    "permuted": (
        lambda t, o: t.reshape((40, 2, 3)).vector_select(0, o).permute((0, 2, 1)),
        CHOSEN.reshape(5, 2, 3).transpose(0, 2, 1),
    ),
    "of a part": (lambda t, o: t[3:40].vector_select(0, index(0, 36, 9, 1, 1)), TABLE[[3, 39, 12, 4, 4]]),
    "split": (lambda t, o: t.vector_select(0, o).reshape_dim(1, (3, 2)).select(1, 2), CHOSEN[:, 4:6]),
    "broadcast": (
        lambda t, o: t.vector_select(0, o)[:, 1:2].expand_dim(1).broadcast(1, 3),
        np.repeat(CHOSEN[:, None, 1:2], 3, 1),
    ),
    "as another type": (
        lambda t, o: t.ap([[12, 5], [1, 4]], vector_offset=o, dtype=nl.uint16),
        CHOSEN.view(np.uint16)[:, :4],
    ),
    "overlapping rows": (
        lambda t, o: t.reshape((240, 1)).ap([[1, 5], [1, 8]], vector_offset=o),
        np.stack([TABLE.reshape(-1)[row : row + 8] for row in ROWS[:, 0]]),
    ),
}


@pytest.mark.parametrize("name", FURTHER_VIEWS)
def test_free_dimensions_of_chosen_rows_can_be_viewed(name: str) -> None:
    view, expected = FURTHER_VIEWS[name]

    def body(out: Any, table: Any, offsets: Any) -> None:
        rows = view(table, loaded(offsets))
        assert rows.shape == expected.shape
        nisa.dma_copy(dst=out, src=rows)

    found = launch(body, TABLE, ROWS, like=expected)
    assert same_bits(found, expected)
    assert not same_bits(found, np.roll(expected, 1, 0))


def test_several_columns_of_offsets_are_read_column_by_column() -> None:
    offsets = np.random.default_rng(1).integers(0, 40, (128, 2)).astype(np.int32)

    def body(out: Any, table: Any, index: Any) -> None:
        nisa.dma_copy(dst=out, src=table.ap([[6, 256], [1, 6]], vector_offset=loaded(index)))

    expected = TABLE[offsets.T.reshape(-1)]
    found = launch(body, TABLE, offsets, like=expected)
    assert same_bits(found, expected)
    assert not same_bits(found, TABLE[offsets.reshape(-1)])


def test_rows_are_scattered_and_converted() -> None:
    def body(out: Any, x: Any, offsets: Any) -> None:
        nisa.dma_copy(dst=out, src=nl.zeros((40, 6), nl.bfloat16))
        nisa.dma_copy(dst=out.vector_select(0, loaded(offsets)), src=loaded(x))

    x = numbers(5, 6, seed=1)
    expected = np.zeros((40, 6), BF16)
    expected[DISTINCT[:, 0]] = x.astype(BF16)
    assert same_bits(launch(body, x, DISTINCT, like=expected), expected)


def test_skipped_rows_keep_what_they_held() -> None:
    """Of a gather the rows of dst, of a scatter the rows of the table."""
    offsets = np.array([1, 40, 2, -1, 39], np.int32)[:, None]
    inside = np.array([0, 2, 4])

    def gather(out: Any, table: Any, offsets: Any) -> None:
        gathered = tile(5, 6, value=-7.0)
        nisa.dma_copy(dst=gathered, src=table.vector_select(0, loaded(offsets)), oob_mode=SKIP)
        nisa.dma_copy(dst=out, src=gathered)

    expected = np.full((5, 6), -7.0, np.float32)
    expected[inside] = TABLE[[1, 2, 39]]
    assert same_bits(launch(gather, TABLE, offsets, like=expected), expected)

    def scatter(out: Any, x: Any, offsets: Any) -> None:
        nisa.dma_copy(dst=out, src=tile(40, 6, value=-7.0))
        nisa.dma_copy(dst=out.vector_select(0, loaded(offsets)), src=loaded(x), oob_mode=SKIP)

    x = numbers(5, 6, seed=1)
    expected = np.full((40, 6), -7.0, np.float32)
    expected[[1, 2, 39]] = x[inside]
    assert same_bits(launch(scatter, x, offsets, like=expected), expected)


def test_a_gather_into_tiles_of_another_shape_skips_the_same_elements() -> None:
    def body(out: Any, table: Any) -> None:
        gathered = tile(2, 12, value=-7.0)
        nisa.dma_copy(dst=gathered, src=table.vector_select(0, index(1, 99, 98, 2)), oob_mode=SKIP)
        nisa.dma_copy(dst=out, src=gathered)

    expected = np.full((4, 6), -7.0, np.float32)
    expected[[0, 3]] = TABLE[[1, 2]]
    assert same_bits(launch(body, TABLE, like=expected.reshape(2, 12)), expected.reshape(2, 12))


@pytest.mark.parametrize("dtype", [np.float32, BF16])
def test_dma_compute_sums_in_fp32_and_rounds_once(dtype: Any) -> None:
    parts = [numbers(4, 6, dtype=np.dtype(dtype), seed=seed) for seed in range(3)]

    def body(out: Any, *parts: Any) -> None:
        nisa.dma_compute(dst=out, srcs=[loaded(parts[0]), parts[1], parts[2]], reduce_op=nl.add)

    a, b, c = (part.astype(np.float32) for part in parts)
    found = launch(body, *parts)
    assert same_bits(found, ((a + b) + c).astype(dtype))
    assert not same_bits(found, (a + b).astype(dtype))


@pytest.mark.parametrize("first", [True, False])
def test_scatter_add_and_gather_add(first: bool) -> None:
    """`first`: which of the two sources comes first, and for a gather dst's type."""

    def scatter(out: Any, table: Any, x: Any, offsets: Any) -> None:
        nisa.dma_copy(dst=out, src=table)
        index, added = loaded(offsets), loaded(x)
        rows = out.ap([[6, 5], [1, 6]], vector_offset=index)
        again = out.ap([[6, 5], [1, 6]], vector_offset=index)
        nisa.dma_compute(dst=rows, srcs=[again, added] if first else [added, rows], reduce_op=nl.add, scales=[1.0, 1.0])

    x = numbers(5, 6, seed=1)
    expected = TABLE.copy()
    expected[DISTINCT[:, 0]] += x
    assert same_bits(launch(scatter, TABLE, x, DISTINCT), expected)

    def gather(out: Any, table: Any, x: Any, offsets: Any) -> None:
        total = loaded(x)
        rows = table.vector_select(0, loaded(offsets))
        nisa.dma_compute(dst=total, srcs=[rows, total] if first else [total, rows], reduce_op=nl.add)
        nisa.dma_copy(dst=out, src=total)

    y = x if first else x.astype(BF16)
    expected = (y.astype(np.float32) + TABLE[DISTINCT[:, 0]]).astype(y.dtype)
    assert same_bits(launch(gather, TABLE, y, DISTINCT, like=y), expected)


def test_accumulation_skips_rows_out_of_range() -> None:
    def body(out: Any, x: Any) -> None:
        nisa.dma_copy(dst=out, src=tile(6, 4, value=1.0))
        rows = out.vector_select(0, index(5, 7, 0, 7))
        nisa.dma_compute(dst=rows, srcs=[rows, loaded(x)], reduce_op=nl.add, oob_mode=SKIP)
        total = tile(4, 4, value=2.0)
        nisa.dma_compute(
            dst=total, srcs=[out.vector_select(0, index(9, 5, 0, 9)), total], reduce_op=nl.add, oob_mode=SKIP
        )
        nisa.dma_copy(dst=out[1:5, :], src=total)

    x = numbers(4, 4)
    expected = np.ones((6, 4), np.float32)
    expected[5] += x[0]
    expected[0] += x[2]
    expected[1:5] = 2.0
    expected[2] += expected[5]
    expected[3] += expected[0]
    assert same_bits(launch(body, x, like=expected), expected)


def test_a_scalar_moves_a_view_at_run_time() -> None:
    """In HBM along any dimension, on chip along a free one, for a DMA and for compute engines alike."""

    def body(out: Any, table: Any) -> None:
        picked = table.select(0, index(17))
        assert picked.shape == (6,)
        nisa.dma_copy(dst=out[0], src=picked)
        column = table.reshape((40, 2, 3)).select(1, index(1))
        nisa.dma_copy(dst=out[1, 0:3], src=column[39])
        block = table.ap([[6, 2], [1, 3]], offset=6, scalar_offset=index(3), indirect_dim=0)
        nisa.dma_copy(dst=out[2], src=block)
        held = loaded(table)
        moved = nl.ndarray((40, 2), dtype=table.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=moved, src=held.ap([[6, 40], [1, 2]], scalar_offset=index(4), indirect_dim=1))
        nisa.tensor_scalar(
            dst=held.ap([[6, 40], [1, 1]], scalar_offset=index(5), indirect_dim=1),
            data=held.select(1, index(0)),
            op0=nl.multiply,
            operand0=held.select(1, index(1)),
        )
        nisa.dma_copy(dst=out[1, 3:5], src=moved[7:8])
        nisa.dma_copy(dst=out[1, 5:6], src=held[7:8, 5:6])

    expected = np.stack(
        [TABLE[17], [*TABLE[39, 3:6], *TABLE[7, 4:6], TABLE[7, 0] * TABLE[7, 1]], [*TABLE[4, :3], *TABLE[5, :3]]]
    ).astype(np.float32)
    assert same_bits(launch(body, TABLE, like=expected), expected)


def test_the_index_is_read_when_the_view_is_used() -> None:
    def body(out: Any, table: Any) -> None:
        position = index(1)
        row = table.select(0, position)
        rows = table.vector_select(0, position)
        nisa.dma_copy(dst=out[0], src=row)
        nisa.memset(dst=position, value=2)
        nisa.dma_copy(dst=out[1], src=row)
        nisa.dma_copy(dst=out[2:3], src=rows)

    expected = TABLE[[1, 2, 2]]
    assert same_bits(launch(body, TABLE, like=expected), expected)


def test_a_scalar_out_of_range_skips_the_whole_copy() -> None:
    def body(out: Any, table: Any) -> None:
        nisa.dma_copy(dst=out, src=tile(2, 6, value=1.0))
        nisa.dma_copy(dst=out[0], src=table.select(0, index(40)), oob_mode=SKIP)
        nisa.dma_copy(dst=out.select(0, index(1)), src=table[3], oob_mode=SKIP)

    expected = np.stack([np.ones(6, np.float32), TABLE[3]])
    assert same_bits(launch(body, TABLE, like=expected), expected)


@pytest.mark.parametrize("shape", [(64, 96), (5, 3, 7), (5, 2, 3, 7)])
def test_dma_transpose_in_every_rank(shape: tuple[int, ...]) -> None:
    x = numbers(*shape, dtype=BF16)
    axes = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}[len(shape)]
    expected = x.transpose(axes)

    def body(out: Any, x: Any) -> None:
        turned = nl.ndarray(expected.shape, dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_transpose(dst=turned, src=x, axes=axes)
        nisa.dma_copy(dst=out, src=turned)

    assert same_bits(launch(body, x, like=expected), np.ascontiguousarray(expected))


@pytest.mark.parametrize(
    ("shape", "index_shape"), [((64, 12), (64, 1)), ((256, 12), (128, 2)), ((32, 2, 1, 12), (32, 1))]
)
def test_rows_are_gathered_and_transposed(shape: tuple[int, ...], index_shape: tuple[int, int]) -> None:
    table = numbers(300, *shape[1:], dtype=BF16)
    offsets = np.random.default_rng(2).integers(0, 300, index_shape).astype(np.uint32)
    axes = (1, 0) if len(shape) == 2 else (3, 1, 2, 0)
    expected = np.ascontiguousarray(table[offsets.T.reshape(-1)].transpose(axes))

    def body(out: Any, table: Any, offsets: Any) -> None:
        turned = nl.ndarray(expected.shape, dtype=table.dtype, buffer=nl.sbuf)
        pattern = [[table.strides[0], shape[0]], *table.get_pattern()[1:]]
        nisa.dma_transpose(dst=turned, src=table.ap(pattern, vector_offset=loaded(offsets)), axes=axes)
        nisa.dma_copy(dst=out, src=turned)

    assert same_bits(launch(body, table, offsets, like=expected), expected)


def test_shapes_can_be_learned_from_arguments_that_are_no_indices() -> None:
    """torch.compile runs a kernel on ones for the shapes of its results: every row is then row 1."""

    @nki.jit
    def kernel(table: Any, x: Any, offsets: Any) -> Any:
        nisa.dma_copy(dst=table.vector_select(0, loaded(offsets)), src=loaded(x))
        return table

    arguments = np.ones((1, 6), np.float32), np.ones((5, 6), np.float32), np.ones((5, 1), np.int32)
    assert kernel.run(*arguments).shape == (1, 6)
    with pytest.raises(nki.NkiValidationError, match="offset 1 of row 0 lies outside the 1 rows"):
        kernel(*arguments)


def test_a_run_for_shapes_refuses_no_numbers() -> None:
    """Nor what follows from them: rows that two cores scatter, tables left, types overflown, results partly written."""

    @nki.jit
    def kernel(x: Any, offsets: Any, low: Any) -> Any:
        core = nl.program_id(0)
        out, table = (nl.ndarray((8, 6), dtype=nl.float32, buffer=nl.shared_hbm) for _ in "ab")
        held = loaded(x[4 * core : 4 * core + 4])
        nisa.dma_copy(dst=out.vector_select(0, loaded(offsets)), src=held)
        nisa.dma_copy(dst=table[4 * core : 4 * core + 4], src=held)
        nisa.tensor_scalar(dst=held, data=held, op0=nl.subtract, operand0=1.0)
        nisa.activation(dst=held, data=held, op=nl.log)
        small = nl.ndarray((4, 6), dtype=nl.float8_e4m3, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=small, data=loaded(x[0:4]), op0=nl.multiply, operand0=300.0)
        nisa.dma_copy(dst=held, src=table.vector_select(0, loaded(low)))
        return out, table

    ones = np.ones((8, 6), np.float32), np.ones((4, 1), np.int32), np.full((4, 1), 7, np.int32)
    assert [found.shape for found in kernel[2].run(*ones)] == [(8, 6), (8, 6)]
    with shapes_only():
        assert [found.shape for found in kernel[2](*ones)] == [(8, 6), (8, 6)]
    with pytest.raises(nki.NkiValidationError, match="name the same elements"):
        kernel[2](*ones)


def hbm(*shape: int, dtype: Any = nl.float32) -> Any:
    return nl.zeros(shape, dtype, buffer=nl.private_hbm)


def empty(*shape: int, dtype: Any = nl.float32, buffer: Any = nl.sbuf) -> Any:
    return nl.ndarray(shape, dtype=dtype, buffer=buffer)


def gather(*rows: int, **more: Any) -> None:
    nisa.dma_copy(dst=empty(len(rows), 6), src=hbm(8, 6).vector_select(0, index(*rows)), **more)


def scatter(*rows: int, **more: Any) -> None:
    nisa.dma_copy(dst=hbm(8, 6).vector_select(0, index(*rows)), src=tile(len(rows), 6), **more)


def add_rows(*rows: int, base: Any = None, **more: Any) -> None:
    view = (hbm(8, 6) if base is None else base).vector_select(0, index(*rows))
    nisa.dma_compute(**{"dst": view, "srcs": [view, tile(len(rows), 6)], "reduce_op": nl.add, **more})


def gather_add(*rows: int) -> None:
    total = tile(len(rows), 6)
    sum_of(2, dst=total, srcs=[total, hbm(8, 6).vector_select(0, index(*rows))])


def partly_written(rows: int) -> Any:
    made = empty(8, 6, buffer=nl.private_hbm)
    nisa.dma_copy(dst=made[0:rows], src=tile(rows, 6))
    return made


def read_skipped(*rows: int) -> None:
    gathered = empty(len(rows), 6)
    nisa.dma_copy(dst=gathered, src=hbm(8, 6).vector_select(0, index(*rows)), oob_mode=SKIP)
    use(gathered)


def gather_and_use(table: Any, offsets: Any) -> None:
    gathered = empty(2, 6)
    nisa.dma_copy(dst=gathered, src=table.vector_select(0, offsets))
    use(gathered)


def sum_of(count: int, **more: Any) -> None:
    nisa.dma_compute(**{"dst": empty(4, 6), "srcs": [tile(4, 6)] * count, "reduce_op": nl.add, **more})


def pattern(offsets: Any, rows: int = 4, **more: Any) -> Any:
    return hbm(8, 6).ap([[6, rows], [1, 6]], vector_offset=offsets, **more)


def moved(position: int, **more: Any) -> None:
    nisa.dma_copy(dst=empty(1, 6), src=hbm(8, 6).select(0, index(position)), **more)


def column(position: int, width: int = 2) -> None:
    held = tile(4, 6)
    view = held.ap([[6, 4], [1, width]], scalar_offset=index(position), indirect_dim=1)
    nisa.tensor_copy(dst=empty(4, width), src=view)


def turned(
    rows: int = 32, columns: int = 8, dtype: Any = nl.bfloat16, index_dtype: Any = nl.uint32, **more: Any
) -> None:
    offsets = empty(rows, 1, dtype=index_dtype)
    nisa.memset(dst=offsets, value=0)
    table = hbm(40, 8, dtype=dtype)
    nisa.dma_transpose(dst=empty(8, rows, dtype=dtype), src=table.vector_select(0, offsets), **more)


CHECKS: dict[str, tuple[Callable[[], Any], str, Callable[[], Any]]] = {
    "row out of range": (
        lambda: gather(1, 8),
        "src: offset 8 of row 1 lies outside the 8 rows of nl.private_hbm tensor (8, 6)",
        lambda: gather(1, 7),
    ),
    "negative row": (lambda: scatter(-1, 1), "dst: offset -1 of row 0", lambda: scatter(0, 1)),
    "rows written twice": (
        lambda: scatter(3, 1, 3, 1),
        "dst: rows 2 (offset 3), 3 (offset 1) name the same elements",
        lambda: scatter(3, 1, 0, 2),
    ),
    "rows written twice, though one is skipped": (
        lambda: scatter(9, 3, 9, 3, oob_mode=SKIP),
        "dst: rows 3 (offset 3) name",
        lambda: scatter(9, 3, 9, 1, oob_mode=SKIP),
    ),
    "rows that overlap": (
        lambda: nisa.dma_copy(dst=hbm(48, 1).ap([[6, 2], [1, 6]], vector_offset=index(0, 5)), src=tile(2, 6)),
        "rows 1 (offset 5) name the same elements",
        lambda: nisa.dma_copy(dst=hbm(48, 1).ap([[6, 2], [1, 6]], vector_offset=index(0, 6)), src=tile(2, 6)),
    ),
    "scattering into repeated elements": (
        lambda: nisa.dma_copy(dst=hbm(8, 6).ap([[6, 2], [0, 6]], vector_offset=index(0, 5)), src=tile(2, 6)),
        "cannot be written",
        lambda: nisa.dma_copy(dst=hbm(8, 6).ap([[6, 2], [1, 6]], vector_offset=index(0, 5)), src=tile(2, 6)),
    ),
    "rows added twice": (lambda: add_rows(2, 2), "rows 1 (offset 2) name the same elements", lambda: add_rows(2, 1)),
    "gather-add of a row twice": (
        lambda: gather_add(4, 4),
        "srcs: rows 1 (offset 4)",
        lambda: gather_add(4, 5),
    ),
    "reading a row that nothing wrote": (
        lambda: gather_and_use(partly_written(4), index(3, 4)),
        "data: uninitialised read: 6 of 12 elements",
        lambda: gather_and_use(partly_written(4), index(3, 0)),
    ),
    "adding to a row that nothing wrote": (
        lambda: add_rows(3, 4, base=partly_written(4)),
        "srcs: uninitialised read: 6 of 12",
        lambda: add_rows(3, 2, base=partly_written(4)),
    ),
    "reading a skipped row": (
        lambda: read_skipped(1, 8),
        "uninitialised read: 6 of 12 elements",
        lambda: read_skipped(1, 7),
    ),
    "index that nothing wrote": (
        lambda: nisa.dma_copy(dst=empty(2, 6), src=hbm(8, 6).vector_select(0, empty(2, 1, dtype=nl.int32))),
        "vector_offset: uninitialised read: 2 of 2",
        lambda: gather(0, 0),
    ),
    "index of floats": (lambda: pattern(tile(4, 1)), "vector_offset: type float32", lambda: pattern(index(1, 2, 3, 4))),
    "index of 16 bits": (
        lambda: pattern(tile(4, 1, dtype=nl.uint16)),
        "expected int32 or uint32",
        lambda: pattern(index(1, 2, 3, 4)),
    ),
    "index in a row": (
        lambda: pattern(tile(1, 4, dtype=nl.int32)),
        "(1, 4) for 4 rows",
        lambda: pattern(tile(4, 1, dtype=nl.int32)),
    ),
    "index of other rows": (
        lambda: pattern(index(1, 2, 3)),
        "(3, 1), the pattern has 4 rows",
        lambda: pattern(index(1, 2, 3), 3),
    ),
    "index in HBM": (
        lambda: pattern(hbm(4, 1, dtype=nl.int32)),
        "an index lies in SBUF",
        lambda: pattern(index(1, 2, 3, 4)),
    ),
    "index as a list": (lambda: pattern([1, 2]), "expected an SBUF tensor", lambda: pattern(index(1, 2), 2)),
    "two run-time offsets": (
        lambda: pattern(index(1, 2), 2, scalar_offset=index(1)),
        "one run-time offset",
        lambda: pattern(index(1, 2), 2),
    ),
    "rows of another dimension": (
        lambda: pattern(index(1, 2), 2, indirect_dim=1),
        "rows of dimension 0",
        lambda: pattern(index(1, 2), 2),
    ),
    "rows of a tile": (
        lambda: tile(8, 6).vector_select(0, index(1)),
        "addresses HBM",
        lambda: hbm(8, 6).vector_select(0, index(1)),
    ),
    "rows of dimension 1": (
        lambda: hbm(8, 6).vector_select(1, index(1)),
        "from dimension 0",
        lambda: hbm(8, 6).vector_select(0, index(1)),
    ),
    "chained run-time addresses": (
        lambda: hbm(8, 6).vector_select(0, index(1)).select(1, index(1)),
        "can have only one",
        lambda: hbm(8, 6).vector_select(0, index(1)).select(1, 1),
    ),
    "pattern of a view with a run-time address": (
        lambda: hbm(8, 6).select(0, index(1)).ap([[1, 2]]),
        "can have only one",
        lambda: hbm(8, 6)[1].ap([[1, 2]]),
    ),
    "slicing chosen rows": (
        lambda: hbm(8, 6).vector_select(0, index(1, 2))[0:1],
        "slice the offsets instead",
        lambda: hbm(8, 6).vector_select(0, index(1, 2))[0:2],
    ),
    "reinterpreting a moved view": (
        lambda: hbm(8, 6).select(0, index(1)).view(nl.int32),
        "cannot be reinterpreted",
        lambda: hbm(8, 6).view(nl.int32).select(0, index(1)),
    ),
    "chosen rows in a compute engine": (
        lambda: nisa.tensor_copy(dst=empty(2, 6), src=hbm(8, 6).vector_select(0, index(1, 2))),
        "gather them into a tile first",
        lambda: gather(1, 2),
    ),
    "rows by hwdge": (
        lambda: gather(1, dge_mode=DGE.hwdge),
        "no descriptors for rows",
        lambda: gather(1, dge_mode=DGE.swdge),
    ),
    "rows by descriptors made before": (
        lambda: gather(1, dge_mode=DGE.none),
        "made at run time",
        lambda: gather(1, dge_mode=DGE.unknown),
    ),
    "moved view by descriptors made before": (
        lambda: moved(1, dge_mode=DGE.none),
        "made at run time",
        lambda: moved(1, dge_mode=DGE.hwdge),
    ),
    "oob_mode by name": (lambda: gather(1, oob_mode="skip"), "is none of nki.isa.oob_mode", lambda: gather(1)),
    "both sides choose rows": (
        lambda: nisa.dma_copy(dst=hbm(8, 6).vector_select(0, index(1)), src=hbm(8, 6).vector_select(0, index(1))),
        "one side is static",
        lambda: nisa.dma_copy(dst=hbm(8, 6)[1:2], src=hbm(8, 6).vector_select(0, index(1))),
    ),
    "counts of gathered rows": (
        lambda: nisa.dma_copy(dst=empty(3, 6), src=hbm(8, 6).vector_select(0, index(1, 2))),
        "a DMA needs equal counts",
        lambda: nisa.dma_copy(dst=empty(3, 4), src=hbm(8, 6).vector_select(0, index(1, 2))),
    ),
    "scalar out of range": (lambda: moved(8), "run-time index 8 lies outside the 8 positions", lambda: moved(7)),
    "scalar beyond the partition": (
        lambda: column(5),
        "run-time index 5 lies outside the 5 positions",
        lambda: column(4),
    ),
    "run-time partition": (
        lambda: tile(4, 6).select(0, index(1)),
        "is the partition dimension",
        lambda: tile(4, 6).select(1, index(1)),
    ),
    "run-time partition by pattern": (
        lambda: tile(4, 6).ap([[6, 4], [1, 1]], scalar_offset=index(1)),
        "which no run-time value addresses",
        lambda: tile(4, 6).ap([[6, 4], [1, 1]], scalar_offset=index(1), indirect_dim=1),
    ),
    "scalar of two": (
        lambda: hbm(8, 6).select(0, index(1, 2)),
        "index: shape (2, 1)",
        lambda: hbm(8, 6).select(0, index(1)),
    ),
    "scalar known before": (
        lambda: hbm(8, 6).ap([[6, 1], [1, 6]], scalar_offset=3),
        "a compile-time number belongs into offset",
        lambda: hbm(8, 6).ap([[6, 1], [1, 6]], offset=18),
    ),
    "indirect_dim alone": (
        lambda: hbm(8, 6).ap([[6, 1], [1, 6]], indirect_dim=1),
        "without scalar_offset",
        lambda: hbm(8, 6).ap([[6, 1], [1, 6]], scalar_offset=index(0), indirect_dim=1),
    ),
    "run-time offset of a part": (
        lambda: hbm(8, 6)[:, 0:3].ap([[6, 1], [1, 3]], scalar_offset=index(0)),
        "call ap on the whole tensor",
        lambda: hbm(8, 6)[0:4].ap([[6, 1], [1, 3]], scalar_offset=index(0)),
    ),
    "columns of offsets of another height": (
        lambda: pattern(tile(64, 2, dtype=nl.int32), 128),
        "several columns of offsets have 128 rows",
        lambda: pattern(tile(128, 2, dtype=nl.int32), 256),
    ),
    "columns of offsets convert": (
        lambda: nisa.dma_copy(dst=empty(128, 12, dtype=nl.bfloat16), src=pattern(tile(128, 2, dtype=nl.int32), 256)),
        "a DMA cannot convert",
        lambda: nisa.dma_copy(dst=empty(128, 12), src=pattern(tile(128, 2, dtype=nl.int32), 256)),
    ),
    "sum of one": (lambda: sum_of(1), "1 sources; expected 2 to 16", lambda: sum_of(2)),
    "sum of 17": (lambda: sum_of(17), "17 sources; expected 2 to 16", lambda: sum_of(16)),
    "product by DMA": (lambda: sum_of(2, reduce_op=nl.multiply), "compute nl.add only", lambda: sum_of(2)),
    "scales": (lambda: sum_of(2, scales=[1.0, 2.0]), "scales: [1.0, 2.0]", lambda: sum_of(2, scales=(1.0, 1.0))),
    "indices that repeat": (
        lambda: sum_of(2, unique_indices=False),
        "unique_indices: False",
        lambda: sum_of(2, unique_indices=True),
    ),
    "sum counts": (lambda: sum_of(2, dst=empty(4, 5)), "equal counts", lambda: sum_of(2, dst=empty(3, 8))),
    "sum in PSUM": (
        lambda: sum_of(2, dst=empty(4, 6, buffer=nl.psum)),
        "dst: lies in PSUM",
        lambda: sum_of(2, dst=hbm(4, 6)),
    ),
    "sum at a run-time scalar": (
        lambda: sum_of(2, dst=hbm(2, 4, 6).select(0, index(1))),
        "or static addresses",
        lambda: sum_of(2, dst=hbm(4, 6)),
    ),
    "scatter-add onto other rows": (
        lambda: add_rows(1, 2, srcs=[hbm(8, 6).vector_select(0, index(1, 2)), tile(2, 6)]),
        "the rows of dst themselves",
        lambda: add_rows(1, 2),
    ),
    "scatter-add from HBM": (
        lambda: add_rows(1, base=(b := hbm(8, 6)), srcs=[b.vector_select(0, index(1)), hbm(1, 6)]),
        "the rows of dst themselves",
        lambda: add_rows(1),
    ),
    "three sources with rows": (
        lambda: sum_of(2, srcs=[hbm(8, 6).vector_select(0, index(1, 2, 3, 4)), tile(4, 6), tile(4, 6)]),
        "there are two, one of them dst",
        lambda: sum_of(3),
    ),
    "gather-add onto another tile": (
        lambda: sum_of(2, srcs=[hbm(8, 6).vector_select(0, index(1, 2, 3, 4)), tile(4, 6)]),
        "and dst itself",
        lambda: gather_add(1, 2, 3, 4),
    ),
    "transposing rows of 4 bytes": (lambda: turned(dtype=nl.float32), "with 2-byte types", lambda: turned()),
    "transposing 24 rows": (lambda: turned(24), "a multiple of 16", lambda: turned(32)),
    "transposing by int32 offsets": (
        lambda: turned(index_dtype=nl.int32),
        "offsets of a transpose are uint32",
        lambda: turned(),
    ),
    "transposing rows by hwdge": (
        lambda: turned(dge_mode=DGE.hwdge),
        "unknown or swdge",
        lambda: turned(dge_mode=DGE.swdge),
    ),
    "transposing a static view by swdge": (
        lambda: nisa.dma_transpose(dst=empty(6, 4), src=tile(4, 6), dge_mode=DGE.swdge),
        "takes unknown or hwdge",
        lambda: nisa.dma_transpose(dst=empty(6, 4), src=tile(4, 6), dge_mode=DGE.unknown),
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_trips_and_its_neighbour_passes(name: str) -> None:
    trips, message, passes = CHECKS[name]
    with pytest.raises(nki.NkiValidationError) as caught:
        run(trips)
    assert message in str(caught.value)
    run(passes)
