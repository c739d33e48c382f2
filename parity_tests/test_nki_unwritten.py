"""Elements that nothing has written: they may be moved, and are refused where they are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import BF16, empty, numbers, on_chip, run, same_bits, tile, use

ROWS, WRITTEN = 32, 20  # of the rows of a tile, the first ones are written


def partly() -> Any:
    made = empty(ROWS, ROWS)
    nisa.memset(dst=made[:WRITTEN], value=1.0)
    return made


def copied(dtype: Any) -> Any:
    made = tile(ROWS, ROWS, dtype=dtype)
    nisa.tensor_copy(dst=made, src=partly())
    return made


def copied_where(value: int) -> Any:
    made = tile(ROWS, ROWS)
    nisa.tensor_copy_predicated(dst=made, src=partly(), predicate=tile(ROWS, ROWS, dtype=nl.uint8, value=value))
    return made


def through_hbm() -> Any:
    made, between = tile(ROWS, ROWS), nl.zeros((ROWS, ROWS), nl.float32, buffer=nl.private_hbm)
    nisa.dma_copy(dst=between, src=partly())
    nisa.dma_copy(dst=made, src=between)
    return made


def converted_by_dma() -> Any:
    made = tile(ROWS, ROWS, dtype=nl.int32)
    nisa.dma_copy(dst=made, src=partly())
    return made


def gathered() -> Any:
    made, between, rows = (
        tile(ROWS, ROWS),
        nl.zeros((ROWS, ROWS), nl.float32, nl.private_hbm),
        empty(ROWS, 1, dtype=nl.int32),
    )
    nisa.iota(dst=rows, pattern=[[0, 1]], channel_multiplier=1)
    nisa.dma_copy(dst=between.vector_select(0, rows), src=partly())
    nisa.dma_copy(dst=made, src=between.vector_select(0, rows))
    return made


def transposed(by: str) -> Any:
    made = tile(ROWS, ROWS, buffer=nl.sbuf if by == "dma" else nl.psum)
    if by == "dma":
        nisa.dma_transpose(dst=made, src=partly())
    elif by == "matmul":
        nisa.nc_matmul(
            dst=made, stationary=partly(), moving=nl.shared_identity_matrix(ROWS, nl.float32), is_transpose=True
        )
    else:
        nisa.nc_transpose(dst=made, data=partly())
    return made


def shuffled() -> Any:
    made = tile(ROWS, ROWS)
    nisa.nc_stream_shuffle(dst=made, src=partly(), shuffle_mask=list(range(32)))
    return made


def picked(by: str) -> Any:
    """Every partition's elements, each from its own place."""
    made, places = tile(ROWS, ROWS), empty(ROWS, ROWS, dtype=nl.uint32)
    nisa.iota(dst=places, pattern=[[1, ROWS]])
    if by == "partition":
        nisa.nc_n_gather(dst=made, data=partly(), indices=places)
        return made
    index = empty(ROWS, ROWS // 16, dtype=nl.uint16)
    nisa.iota(dst=index[0:16], pattern=[[16, ROWS // 16]], channel_multiplier=1)
    for start in range(16, ROWS, 16):
        nisa.dma_copy(dst=index[start : start + 16], src=index[0:16])
    nisa.local_gather(dst=made, src_buffer=partly(), index=index, num_elem_per_idx=1, num_valid_indices=ROWS)
    return made


def in_bytes() -> Any:
    made = tile(ROWS, 2 * ROWS, dtype=nl.uint16)
    nisa.tensor_copy(dst=made, src=partly().view(nl.uint16))
    return made.view(nl.float32)


# What makes a tile of a partly written one, and whether the written part are its first columns instead of its rows.
MOVES: dict[str, tuple[Callable[[], Any], bool]] = {
    "copy": (lambda: copied(nl.float32), False),
    "copy that converts": (lambda: copied(nl.bfloat16), False),
    "copy to integers": (lambda: copied(nl.int32), False),
    "copy of halves of elements": (in_bytes, False),
    "copy where a predicate holds": (lambda: copied_where(1), False),
    "DMA to HBM and back": (through_hbm, False),
    "DMA that converts": (converted_by_dma, False),
    "scatter and gather": (gathered, False),
    "transpose": (lambda: transposed("engine"), True),
    "transpose by a product": (lambda: transposed("matmul"), True),
    "transpose by DMA": (lambda: transposed("dma"), True),
    "shuffle": (shuffled, False),
    "gather within partitions": (lambda: picked("partition"), False),
    "gather of groups of partitions": (lambda: picked("group"), False),
}


def part(made: Any, columns: bool, count: int) -> Any:
    return made[:, :count] if columns else made[:count]


@pytest.mark.parametrize("name", MOVES)
def test_what_was_never_written_is_moved_and_refused_where_it_is_used(name: str) -> None:
    move, columns = MOVES[name]
    run(move)
    run(lambda: use(part(move(), columns, WRITTEN)))
    with pytest.raises(nki.NkiValidationError, match=f"uninitialised read: {ROWS} of {ROWS * (WRITTEN + 1)} elements"):
        run(lambda: use(part(move(), columns, WRITTEN + 1)))


@pytest.mark.parametrize("name", MOVES)
def test_a_result_of_what_was_never_written_is_refused(name: str) -> None:
    move, columns = MOVES[name]

    def body(out: Any, count: int) -> None:
        nisa.tensor_copy(dst=part(out, columns, count), src=part(move(), columns, count))

    def result(count: int) -> None:
        shape = (ROWS, count) if columns else (count, ROWS)
        on_chip(lambda out: body(out, count), outputs=[(shape, np.float32)])

    result(WRITTEN)
    with pytest.raises(nki.NkiValidationError, match=f"{ROWS} of .* elements of the result .* were never written"):
        result(WRITTEN + 1)


def test_what_a_predicate_leaves_out_keeps_its_contents() -> None:
    run(lambda: use(copied_where(0)))


def test_writing_it_again_makes_it_known() -> None:
    def body() -> None:
        made = copied(nl.float32)
        nisa.memset(dst=made, value=0.0)
        use(made)

    run(body)


@pytest.mark.parametrize("rows", [WRITTEN, WRITTEN + 1])
def test_memory_of_the_caller_takes_only_what_was_written(rows: int) -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        nisa.dma_copy(dst=x[:rows], src=partly()[:rows])
        return x

    x = np.zeros((ROWS, ROWS), np.float32)
    if rows == WRITTEN:
        assert kernel(x)[:rows].all()
        return
    with pytest.raises(
        nki.NkiValidationError, match="32 of 672 elements were never written; memory of the caller"
    ) as caught:
        kernel(x)
    assert (caught.value.instruction, caught.value.operand) == ("nki.isa.dma_copy", "src")


@pytest.mark.parametrize("rows", [WRITTEN, WRITTEN + 1])
def test_two_cores_share_only_what_was_written(rows: int) -> None:
    @nki.jit
    def kernel() -> Any:
        out = nl.ndarray((2, ROWS, ROWS), nl.float32, nl.shared_hbm)
        nisa.dma_copy(dst=out[nl.program_id(0), :rows], src=partly()[:rows])
        nisa.core_barrier(data=out, cores=(0, 1))
        nl.load(out[1 - nl.program_id(0), :rows])
        result = nl.ndarray((1, 1), nl.float32, nl.shared_hbm)
        nisa.dma_copy(dst=result, src=tile(1, 1))
        return result

    if rows == WRITTEN:
        assert kernel[2]()[0, 0] == 1.0
        return
    with pytest.raises(nki.NkiValidationError, match=r"uninitialised read: 32 of 672 elements of nl\.shared_hbm"):
        kernel[2]()


def test_positions_counted_in_the_partitions_that_count_after_a_transpose_of_a_whole_tile() -> None:
    """Data in one column of a tile, transposed whole; nonzero_with_count reads partitions 0, 16, ... only."""
    x = np.array([[0, 3, 0, 5, 7, 0]], np.float32).T

    def body(out: Any, held: Any) -> None:
        wide, flat = empty(6, 32), empty(32, 6)
        nisa.tensor_copy(dst=wide[:, 0:1], src=held)
        turned = empty(32, 6, buffer=nl.psum)
        nisa.nc_transpose(dst=turned, data=wide)
        nisa.tensor_copy(dst=flat, src=turned)
        counted = empty(32, 7, dtype=nl.int32)
        nisa.nonzero_with_count(dst=counted, src=flat)
        nisa.tensor_copy(dst=out, src=counted[0:1])

    (found,) = on_chip(body, x, outputs=[((1, 7), np.int32)])
    assert found.tolist() == [[1, 3, 4, -1, -1, -1, 3]]


def test_values_that_were_written_arrive_whatever_lies_beside_them() -> None:
    x = numbers(4, 6)

    def body(out: Any, held: Any) -> None:
        wide, narrow = empty(4, 8), empty(4, 8, dtype=BF16)
        nisa.tensor_copy(dst=wide[:, 1:7], src=held)
        nisa.tensor_copy(dst=narrow, src=wide)
        nisa.tensor_copy(dst=out, src=narrow[:, 1:7])

    (found,) = on_chip(body, x, outputs=[((4, 6), BF16)])
    assert same_bits(found, x.astype(BF16))
