"""A kernel that is right in program order only is found, by running it in other orders that the compiler may choose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
from nki._schedule import check_order

from parity_tests.nki_program import numbers

FIRST, SECOND = 0.5, 3.0


def half_and_double(order: Callable[[Any, Any], Any]) -> Any:
    """table [8, F]: rows 0 to 3 are halved in place, then `rows` (rows 0 to 3 of it, as the caller says) are read.

    `order(write, read)` may tell the compiler that the reading DMA comes after the writing one.
    """

    @nki.jit
    def kernel(table: Any, rows: Any) -> Any:
        out = nl.ndarray(rows.shape, dtype=rows.dtype, buffer=nl.shared_hbm)
        changed = nl.ndarray(rows.shape, dtype=rows.dtype, buffer=nl.sbuf)
        copied = nl.ndarray(rows.shape, dtype=rows.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=changed, src=table[0:4, 0 : table.shape[1]])
        nisa.tensor_scalar(dst=changed, data=changed, op0=nl.multiply, operand0=FIRST)
        write = nisa.dma_copy(dst=table[0:4, 0 : table.shape[1]], src=changed, name="write")
        read = nisa.dma_copy(dst=copied, src=rows, name="read")
        order(write, read)
        nisa.dma_copy(dst=out, src=copied)
        return table, out

    return kernel


ANY_ORDER = half_and_double(lambda write, read: None)


def test_two_tensors_over_the_same_memory_are_right_in_program_order_only() -> None:
    table = numbers(8, 16)
    before = table.copy()
    with pytest.raises(nki.NkiValidationError, match="right in program order only") as caught:
        check_order(ANY_ORDER, table, table[0:4])
    assert np.array_equal(table, before)  # the caller's memory is left alone
    error = caught.value
    lines = ANY_ORDER.func.__code__.co_firstlineno
    assert (error.kernel, error.instruction, error.file) == ("kernel", "nki.isa.dma_copy", __file__)
    assert error.line == lines + 8  # the read
    assert f"nki.isa.dma_copy ({__file__}:{lines + 7})" in error.message  # the write
    assert "changes result 1" in error.message
    assert "'argument 0' and 'argument 1' lie over the same memory" in error.message


def test_its_twin_that_reads_through_the_same_tensor_passes() -> None:
    @nki.jit
    def mended(table: Any) -> Any:
        rows = table[0:4, 0 : table.shape[1]]
        return ANY_ORDER(table, rows)

    assert check_order(mended, numbers(8, 16)) == 0  # one order only
    assert check_order(ANY_ORDER, numbers(8, 16), numbers(4, 16)) > 0  # other memory: more orders, the same results


@pytest.mark.parametrize("by", ["depends_on", "with_schedule", "no_reorder"])
def test_an_order_that_the_kernel_states_is_kept(by: str) -> None:
    if by == "depends_on":
        kernel = half_and_double(lambda write, read: read.depends_on(write))
    elif by == "with_schedule":
        kernel = ANY_ORDER.with_schedule([("read", "write")])
    else:

        @nki.jit
        def kernel(table: Any, rows: Any) -> Any:
            with nl.no_reorder():
                return ANY_ORDER(table, rows)

    table = numbers(8, 16)
    check_order(kernel, table, table[0:4])
    backwards = half_and_double(lambda write, read: write.depends_on(read))
    with pytest.raises(nki.NkiValidationError, match="right in program order only"):
        check_order(backwards, table, table[0:4])


def test_an_order_that_goes_round_in_a_circle_is_refused() -> None:
    backwards = half_and_double(lambda write, read: write.depends_on(read))

    @nki.jit
    def circle(table: Any) -> Any:
        return backwards(table, table[0:4, 0 : table.shape[1]])

    with pytest.raises(nki.NkiValidationError, match="waits for itself"):
        check_order(circle, numbers(8, 16))


@nki.jit
def of_everything(x: Any, weight: Any, rows: Any, target: Any) -> Any:
    """A product in two parts, sums in registers, a gather, a scatter, a register as an address, random bits."""
    out = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    sums = nl.ndarray((64, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    bits = nl.ndarray((64, 4), dtype=nl.int32, buffer=nl.shared_hbm)
    index = nl.ndarray((64, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=index, src=rows)
    gathered = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=gathered, src=x.ap([[64, 64], [1, 64]], vector_offset=index))
    product = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.psum)
    for part in range(2):
        side = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=side, src=weight[64 * part : 64 * part + 64, 0:64])
        nisa.nc_matmul(dst=product, stationary=gathered, moving=side, accumulate=part > 0)
    total = nl.ndarray((64, 1), dtype=nl.float32, buffer=nl.sbuf)
    done = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.sbuf)
    for start in (0, 32):
        nisa.activation(
            dst=done[0:64, start : start + 32],
            op=nl.square,
            data=product[0:64, start : start + 32],
            reduce_op=nl.add,
            reduce_res=total,
            reduce_cmd=nisa.reduce_cmd.reset_reduce if start == 0 else nisa.reduce_cmd.reduce,
        )
    noise = nl.ndarray((64, 4), dtype=nl.int32, buffer=nl.sbuf)
    for column in range(4):
        nisa.rng(dst=noise[0:64, column : column + 1])
    register = nisa.register_alloc(0)
    for row in (3, 1):
        nisa.register_move(dst=register, src=row)
        nisa.dma_copy(dst=target.select(0, register), src=done[0:1, 0:64])
    nisa.dma_copy(dst=out.ap([[64, 64], [1, 64]], vector_offset=index), src=done)
    nisa.dma_copy(dst=sums, src=total)
    nisa.dma_copy(dst=bits, src=noise)
    return out, sums, bits, target


def test_products_registers_addresses_and_random_numbers_keep_their_order() -> None:
    rows = np.random.default_rng(0).permutation(64).astype(np.int32)[:, None]
    assert check_order(of_everything, numbers(64, 64), numbers(128, 64, seed=1), rows, numbers(8, 64)) > 10


@nki.jit
def exchanged(x: Any) -> Any:
    """Each core scales its half of the rows, sends it to the other, and reads the other's behind a barrier."""
    rows, width = x.shape
    half, core = rows // 2, nl.program_id(0)
    shared = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    mine, theirs, read = (nl.ndarray((half, width), dtype=x.dtype, buffer=nl.sbuf) for _ in range(3))
    nisa.dma_copy(dst=mine, src=x[core * half : core * half + half, 0:width])
    nisa.tensor_scalar(dst=mine, data=mine, op0=nl.multiply, operand0=SECOND)
    nisa.dma_copy(dst=shared[core * half : core * half + half, 0:width], src=mine)
    nisa.sendrecv(src=mine, dst=theirs, send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=0)
    nisa.core_barrier(data=shared, cores=(0, 1))
    other = (1 - core) * half
    nisa.dma_copy(dst=read, src=shared[other : other + half, 0:width])
    nisa.tensor_tensor(dst=read, data1=read, data2=theirs, op=nl.add)
    nisa.dma_copy(dst=out[core * half : core * half + half, 0:width], src=read)
    return out


def test_two_cores_that_meet_are_run_in_other_orders_too() -> None:
    x = numbers(64, 32)
    expected = 2 * np.float32(SECOND) * np.concatenate([x[32:], x[:32]])
    assert np.allclose(exchanged[2](x), expected)
    check_order(exchanged[2], x)
    apart = numbers(32, 32)
    with pytest.raises(nki.NkiValidationError, match="right in program order only"):
        check_order(in_halves[2], x, x[0:32], apart)


@nki.jit
def in_halves(table: Any, rows: Any, apart: Any) -> Any:
    """As `ANY_ORDER` on core 0; core 1 copies."""
    out = nl.ndarray((64, 32), dtype=table.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((32, 32), dtype=table.dtype, buffer=nl.sbuf)
    again = nl.ndarray((32, 32), dtype=table.dtype, buffer=nl.sbuf)
    if nl.program_id(0) == 0:
        nisa.memset(dst=tile, value=FIRST)
        nisa.dma_copy(dst=table[0:32, 0:32], src=tile)
        nisa.dma_copy(dst=again, src=rows)
        nisa.dma_copy(dst=out[0:32, 0:32], src=again)
    else:
        nisa.dma_copy(dst=again, src=apart)
        nisa.dma_copy(dst=out[32:64, 0:32], src=again)
    return out


def test_tiles_placed_over_each_other_wait_for_each_other() -> None:
    @nki.jit
    def placed(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for first in range(0, 256, 128):
            tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf, address=(0, 1024))
            nisa.dma_copy(dst=tile, src=x[first : first + 128, 0:64])
            nisa.dma_copy(dst=out[first : first + 128, 0:64], src=tile)
        return out

    assert check_order(placed, numbers(256, 64)) == 0
