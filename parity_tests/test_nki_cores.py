"""The two cores of LNC 2: they wait for each other, exchange tiles, and what they do without waiting is refused."""

from __future__ import annotations

import gc
import signal
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, cast

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import numbers, same_bits, use

X = numbers(4, 6)
DMA = nisa.dma_engine


def shared(*shape: int, dtype: Any = nl.float32) -> Any:
    return nl.ndarray(shape, dtype=dtype, buffer=nl.shared_hbm)


def tile(*shape: int, dtype: Any = nl.float32, value: float | None = 0.0) -> Any:
    made = nl.ndarray(shape, dtype=dtype, buffer=nl.sbuf)
    if value is not None:
        nisa.memset(dst=made, value=value)
    return made


def copy(dst: Any, src: Any) -> None:
    """HBM to HBM, by way of SBUF."""
    held = nl.ndarray(src.shape, dtype=src.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=held, src=src)
    nisa.dma_copy(dst=dst, src=held)


def exchange(dst: Any, src: Any, **more: Any) -> None:
    other = 1 - nl.program_id(0)
    nisa.sendrecv(**{"src": src, "dst": dst, "send_to_rank": other, "recv_from_rank": other, "pipe_id": 0, **more})


def exchange_and_use(src: Any) -> None:
    received = tile(2, 2)
    exchange(received, src)
    use(received)


def half(tensor: Any, core: int) -> Any:
    rows = tensor.shape[0] // 2
    return tensor[core * rows : (core + 1) * rows, :]


@nki.jit
def swap_halves(x: Any, barrier: bool) -> Any:
    """Each core writes its half of a scratch tensor and reads the other's."""
    core = nl.program_id(0)
    scratch, out = shared(*x.shape), shared(*x.shape)
    copy(half(scratch, core), half(x, core))
    if barrier:
        nisa.core_barrier(data=scratch, cores=(0, 1))
    copy(half(out, core), half(scratch, 1 - core))
    return out


def test_after_a_barrier_a_core_reads_what_the_other_wrote() -> None:
    assert same_bits(swap_halves[2](X, True), np.roll(X, 2, 0))
    with pytest.raises(nki.NkiValidationError, match=r"never written .* only after a nki\.isa\.core_barrier"):
        swap_halves[2](X, False)


@pytest.mark.parametrize("by", [DMA.dma, DMA.gpsimd_dma])
def test_sendrecv_exchanges_tiles(by: Any) -> None:
    @nki.jit
    def add_halves(x: Any) -> Any:
        core = nl.program_id(0)
        mine, theirs, total, out = tile(2, 6), tile(2, 6, value=None), tile(2, 6, value=None), shared(2, 2, 6)
        nisa.dma_copy(dst=mine, src=half(x, core))
        exchange(theirs, mine, dma_engine=by)
        nisa.tensor_tensor(dst=total, data1=mine, data2=theirs, op=nl.add)
        nisa.dma_copy(dst=out[core], src=total)
        return out

    expected = X[:2] + X[2:]
    assert same_bits(add_halves[2](X), np.stack([expected, expected]))
    assert not same_bits(expected, X[:2] + X[:2])


def test_cores_that_meet_often_give_the_same_bits_every_time() -> None:
    """Each round a core averages its half with the other's from HBM, then doubles what it gets from SBUF."""

    @nki.jit
    def kernel(x: Any) -> Any:
        core = nl.program_id(0)
        out = shared(*x.shape)
        mine, theirs = tile(2, 6), tile(2, 6)
        copy(half(out, core), half(x, core))
        for step in range(7):
            nisa.core_barrier(data=out, cores=(0, 1))
            nisa.dma_copy(dst=theirs, src=half(out, 1 - core))
            nisa.dma_copy(dst=mine, src=half(out, core))
            nisa.core_barrier(data=out, cores=(0, 1))
            nisa.tensor_tensor(dst=mine, data1=mine, data2=theirs, op=nl.add)
            nisa.tensor_scalar(dst=mine, data=mine, op0=nl.multiply, operand0=0.5 + core)
            exchange(theirs, mine, pipe_id=step % 2)
            nisa.dma_copy(dst=half(out, core), src=theirs)
        return out

    first, second = X[:2], X[2:]
    for _ in range(7):
        total = first + second
        first, second = total * np.float32(1.5), total * np.float32(0.5)
    found = kernel[2](X)
    assert same_bits(found, np.concatenate([first, second]))
    assert all(same_bits(kernel[2](X), found) for _ in range(3))


def test_cores_that_never_meet_need_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        out = shared(*x.shape)
        copy(half(out, nl.program_id(0)), half(x, nl.program_id(0)))
        return out

    monkeypatch.setattr(threading, "Thread", None)
    assert same_bits(kernel[2](X), X)
    with pytest.raises(TypeError):
        swap_halves[2](X, True)


def test_one_core_waits_for_nobody() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        out = shared(*x.shape)
        copy(out, x)
        nisa.core_barrier(data=out, cores=(0,))
        nisa.core_barrier(out, 0, engine=nisa.engine.dma)
        return out

    assert same_bits(kernel(X), X)


def only_on(core: int, body: Callable[[], Any]) -> None:
    if nl.program_id(0) == core:
        body()


argument: Any = None  # of the probe that runs


def barrier(data: Any = None, cores: Any = (0, 1), **more: Any) -> None:
    nisa.core_barrier(data=argument if data is None else data, cores=cores, **more)


def touch(first: str, second: str, between: bool, by: tuple[int, int] = (0, 1), rows: tuple[int, int] = (1, 1)) -> None:
    """A core reads or writes a row, then a core does again, with a barrier between or none."""
    table = shared(2, 4)
    only_on(0, lambda: nisa.dma_copy(dst=table, src=tile(2, 4)))
    barrier(table)
    for step, (what, core, row) in enumerate(zip((first, second), by, rows, strict=True)):
        if step == 1 and between:
            barrier(table)
        if what == "read":
            only_on(core, lambda row=row: nisa.dma_copy(dst=tile(1, 4), src=table[row : row + 1]))
        else:
            mine = float(core)
            only_on(
                core, lambda row=row, mine=mine: nisa.dma_copy(dst=table[row : row + 1], src=tile(1, 4, value=mine))
            )


def write_and_read(between: Callable[[Any, Any], Any], reads: bool = True) -> None:
    """Core 1 writes one of two tensors; then core 0 reads it, or writes something else there."""
    written, other = shared(2, 4), shared(2, 4)
    only_on(1, lambda: nisa.dma_copy(dst=written, src=tile(2, 4)))
    between(written, other)
    if reads:
        only_on(0, lambda: nisa.tensor_copy(dst=tile(2, 4), src=nl.load(written)))
    else:
        only_on(0, lambda: nisa.dma_copy(dst=written, src=tile(2, 4, value=2.0)))


def both_write(*values: float, dtype: Any = nl.float32, other: Any = None) -> None:
    """Each core writes all of a tensor; the last element is `values[core]`, the others are the same."""
    core = nl.program_id(0)
    table = shared(1, 4, dtype=dtype)
    row = tile(1, 4, dtype=dtype)
    nisa.memset(dst=row[:, 3:4], value=values[core])
    if core == 1 and other is not None:
        table, row = table.view(other), row.view(other)
    nisa.dma_copy(dst=table, src=row)


def indirectly(rows: tuple[int, int], skip: bool = False) -> None:
    """Core 0 writes row 0 of three; each core then scatters to its row by an offset."""
    table = shared(3, 4)
    only_on(0, lambda: nisa.dma_copy(dst=table[0:1], src=tile(1, 4)))
    position = tile(1, 1, dtype=nl.int32, value=rows[nl.program_id(0)])
    nisa.dma_copy(dst=table.vector_select(0, position), src=tile(1, 4), oob_mode=nisa.oob_mode.skip)


def tiles_of(first: int, second: int) -> None:
    width = (first, second)[nl.program_id(0)]
    exchange(tile(4, width), tile(4, width))


def halves_of_one_tile(start: int) -> None:
    both = tile(4, 6)
    exchange(both[:, start : start + 3], both[:, 0:3])


# A body that trips, what is said, one that just passes.
CHECKS: dict[str, tuple[Callable[[], Any], str, Callable[[], Any]]] = {
    "reading what the other wrote": (
        lambda: touch("write", "read", False),
        "data race: core 0 overwrites elements of nl.shared_hbm tensor that core 1 reads",
        lambda: touch("write", "read", True),
    ),
    "reading what the other wrote, the other way round": (
        lambda: touch("write", "read", False, by=(1, 0)),
        "data race: core 0 reads elements of nl.shared_hbm tensor that core 1 wrote",
        lambda: touch("write", "read", True, by=(1, 0)),
    ),
    "reading what the other wrote, behind a barrier on another tensor": (
        lambda: write_and_read(lambda written, other: barrier(other)),
        "data race: core 0 reads elements of nl.shared_hbm tensor that core 1 wrote",
        lambda: write_and_read(lambda written, other: (barrier(other), barrier(written))),
    ),
    "overwriting what the other wrote, behind a barrier on another tensor": (
        lambda: write_and_read(lambda written, other: barrier(other), reads=False),
        "data race: core 0 overwrites elements of nl.shared_hbm tensor that core 1 wrote",
        lambda: write_and_read(lambda written, other: barrier(written), reads=False),
    ),
    "overwriting what the other wrote": (
        lambda: touch("write", "write", False),
        "data race: core 0 overwrites elements of nl.shared_hbm tensor that core 1 wrote",
        lambda: touch("write", "write", True),
    ),
    "writing something else": (
        lambda: both_write(2.0, 3.0),
        "data race: core 1 overwrites elements of nl.shared_hbm tensor that core 0 wrote",
        lambda: both_write(2.0, 2.0),
    ),
    "writing zero with another sign": (
        lambda: both_write(0.0, -0.0),
        "data race: core 1 overwrites",
        lambda: both_write(-0.0, -0.0),
    ),
    "writing something else byte by byte": (
        lambda: both_write(2.0, 3.0, other=nl.uint8),
        "data race: core 1 overwrites",
        lambda: both_write(2.0, 2.0, other=nl.uint8),
    ),
    "overwriting what the other reads": (
        lambda: touch("read", "write", False, by=(1, 0)),
        "data race: core 0 overwrites elements of nl.shared_hbm tensor that core 1 reads",
        lambda: touch("read", "write", True, by=(1, 0)),
    ),
    "overwriting a row": (
        lambda: touch("write", "write", False),
        "data race",
        lambda: touch("write", "write", False, rows=(0, 1)),
    ),
    "reading together": (lambda: touch("read", "write", False), "data race", lambda: touch("read", "read", False)),
    "scattering to another core's row": (
        lambda: indirectly((1, 0)),
        "data race: core 1 overwrites",
        lambda: indirectly((1, 2)),
    ),
    "scattering to the same row": (
        lambda: indirectly((1, 1)),
        "data race: core 1 overwrites",
        lambda: indirectly((1, 3)),
    ),
    "a barrier that only core 0 reaches": (
        lambda: only_on(0, barrier),
        "deadlock: core 0 waits here for core 1, which has ended, without",
        barrier,
    ),
    "a barrier that only core 1 reaches": (
        lambda: only_on(1, barrier),
        "deadlock: core 1 waits here for core 0, which has ended, without",
        barrier,
    ),
    "one barrier more": (
        lambda: (barrier(), only_on(1, barrier)),
        "waits here for core 0, which has ended, and waited last at nki.isa.core_barrier(data=argument 0) at",
        lambda: (barrier(), barrier()),
    ),
    "a sendrecv without a partner": (
        lambda: only_on(0, lambda: tiles_of(4, 4)),
        "nki.isa.sendrecv: deadlock",
        lambda: tiles_of(4, 4),
    ),
    "a barrier against a sendrecv": (
        lambda: barrier() if nl.program_id(0) else tiles_of(4, 4),
        "core 1 is here with data=argument 0, core 0 waits at nki.isa.sendrecv(pipe_id=0)",
        lambda: (tiles_of(4, 4), barrier()),
    ),
    "pipes": (
        lambda: exchange(tile(4, 4), tile(4, 4), pipe_id=nl.program_id(0)),
        "pipe_id=1, core 0 waits at nki.isa.sendrecv(pipe_id=0)",
        lambda: exchange(tile(4, 4), tile(4, 4), pipe_id=1),
    ),
    "barriers of two tensors": (
        lambda: (a := shared(2, 2), b := shared(2, 2), barrier((a, b)[nl.program_id(0)])),
        "data: another tensor",
        lambda: (a := shared(2, 2), b := shared(2, 2), barrier(a), barrier(b)),
    ),
    "shapes": (
        lambda: tiles_of(4, 5),
        "src: float32 (4, 5), the other core sends float32 (4, 4)",
        lambda: tiles_of(5, 5),
    ),
    "receiving another shape": (
        lambda: exchange(tile(4, 5), tile(4, 4)),
        "dst: float32 (4, 5), src has",
        lambda: exchange(tile(4, 4), tile(4, 4)),
    ),
    "receiving another type": (
        lambda: exchange(tile(4, 4, dtype=nl.bfloat16), tile(4, 4)),
        "dst: bfloat16",
        lambda: tiles_of(4, 4),
    ),
    "receiving into what is sent": (lambda: halves_of_one_tile(2), "dst: overlaps src", lambda: halves_of_one_tile(3)),
    "sending HBM": (
        lambda: exchange(tile(2, 2), nl.zeros((2, 2), nl.float32, buffer=nl.private_hbm)),
        "src: lies in nl.private_hbm",
        lambda: exchange(tile(2, 2), tile(2, 2)),
    ),
    "sending what nothing wrote": (
        lambda: exchange_and_use(tile(2, 2, value=None)),
        "data: uninitialised read: 4 of 4",
        lambda: exchange_and_use(tile(2, 2)),
    ),
    "sending to itself": (
        lambda: exchange(tile(2, 2), tile(2, 2), send_to_rank=nl.program_id(0)),
        "send_to_rank: 0; core 0 exchanges with core 1",
        lambda: exchange(tile(2, 2), tile(2, 2), send_to_rank=1 - nl.program_id(0)),
    ),
    "more than GpSimd moves": (
        lambda: exchange(tile(2, 257), tile(2, 257), dma_engine=DMA.gpsimd_dma),
        "at most 1024 bytes of float32 per partition",
        lambda: exchange(tile(2, 256), tile(2, 256), dma_engine=DMA.gpsimd_dma),
    ),
    "more of 2-byte types than GpSimd moves": (
        lambda: exchange(*[tile(2, 257, dtype=nl.bfloat16) for _ in "ab"], dma_engine=DMA.gpsimd_dma),
        "at most 512 bytes of bfloat16 per partition",
        lambda: exchange(*[tile(2, 256, dtype=nl.bfloat16) for _ in "ab"], dma_engine=DMA.gpsimd_dma),
    ),
    "a barrier over SBUF": (lambda: barrier(tile(2, 2)), "guards a tensor in nl.shared_hbm", barrier),
    "a barrier of one core": (lambda: barrier(cores=(0,)), "the cores of this launch are (0, 1)", barrier),
    "allocating more": (
        lambda: [shared(2, 2) for _ in range(1 + nl.program_id(0))],
        "core 0 allocates 1 nl.shared_hbm tensors, core 1 2",
        lambda: [shared(2, 2) for _ in range(2)],
    ),
    "allocating ahead": (
        lambda: (barrier(), shared(2, 2 + nl.program_id(0))),
        "both cores must have the same control flow",
        lambda: (barrier(), shared(2, 2)),
    ),
}


def probe(body: Callable[[], Any]) -> None:
    def on_two(x: Any) -> Any:
        global argument
        argument = x
        body()
        return x

    nki.jit(on_two)[2](np.zeros((1, 1), np.float32))


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_trips_and_its_neighbour_passes(name: str) -> None:
    trips, message, passes = CHECKS[name]
    threads = threading.active_count()
    with pytest.raises(nki.NkiValidationError) as caught:
        probe(trips)
    assert message in str(caught.value)
    assert caught.value.core is not None or message.startswith("core 0 allocates")
    probe(passes)
    assert threading.active_count() == threads


def test_sendrecv_needs_two_cores() -> None:
    def kernel(x: Any) -> Any:
        nisa.sendrecv(src=tile(2, 2), dst=tile(2, 2), send_to_rank=1, recv_from_rank=1, pipe_id=0)
        return x

    with pytest.raises(nki.NkiValidationError, match="needs two cores"):
        nki.jit(kernel)(X)


def test_an_error_names_both_places_and_the_core() -> None:
    def kernel(x: Any) -> Any:
        barrier()
        only_on(1, lambda: nisa.dma_copy(dst=tile(1, 1), src=x))
        barrier()
        return x

    with pytest.raises(nki.NkiValidationError) as caught:
        nki.jit(kernel)[2](X)
    error = caught.value
    line = kernel.__code__.co_firstlineno + 2
    assert (error.kernel, error.core, error.file, error.line) == ("kernel", 1, __file__, line)
    assert (error.instruction, error.operand) == ("nki.isa.dma_copy", "src")
    assert str(error).startswith(f"kernel, core 1 ({__file__}:{line}): nki.isa.dma_copy: src: ")

    def stuck(x: Any) -> Any:
        nisa.core_barrier(data=x, cores=(0, 1))
        if nl.program_id(0) == 0:
            nisa.core_barrier(data=x, cores=(0, 1))
        return x

    with pytest.raises(nki.NkiValidationError) as caught:
        nki.jit(stuck)[2](X)
    first = stuck.__code__.co_firstlineno
    assert (caught.value.core, caught.value.line) == (0, first + 3)
    assert f"waited last at nki.isa.core_barrier(data=argument 0) at {__file__}:{first + 1}" in str(caught.value)


@pytest.mark.parametrize("core", [0, 1])
@pytest.mark.parametrize("step", [0, 1, 2])
@pytest.mark.parametrize("error", [RuntimeError("inside"), KeyboardInterrupt(), TypeError("inside")])
def test_an_exception_on_either_core_ends_both(core: int, step: int, error: BaseException) -> None:
    ended: list[int] = []

    @nki.jit
    def kernel(x: Any) -> Any:
        try:
            for here in range(3):
                if nl.program_id(0) == core and here == step:
                    raise error
                nisa.core_barrier(data=x, cores=(0, 1))
        finally:
            ended.append(nl.program_id(0))
        return x

    threads = threading.active_count()
    with pytest.raises(type(error)) as caught:
        kernel[2](X.copy())
    assert caught.value is error
    assert threading.active_count() == threads
    assert sorted(ended) == ([0] if (core, step) == (0, 0) else [0, 1])
    assert same_bits(swap_halves[2](X, True), np.roll(X, 2, 0))


def test_a_kernel_that_hides_its_errors_ends_nevertheless() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        for _ in range(3):
            try:
                if nl.program_id(0) == 1:
                    raise RuntimeError
                nisa.core_barrier(data=x, cores=(0, 1))
            except Exception:
                continue
        return x

    threads = threading.active_count()
    x = X.copy()
    assert kernel[2](x) is x
    assert threading.active_count() == threads


@pytest.mark.parametrize("barriers", [1, 2])
def test_an_interrupt_leaves_no_core_behind(barriers: int) -> None:
    """After one barrier core 0 waits for its turn when it comes, after two it has ended."""

    @nki.jit
    def kernel(x: Any) -> Any:
        for _ in range(barriers):
            nisa.core_barrier(data=x, cores=(0, 1))
        if nl.program_id(0) == 1:
            signal.pthread_kill(cast(int, threading.main_thread().ident), signal.SIGINT)
            time.sleep(0.01)
        return x

    threads = threading.active_count()
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background may ignore interrupts
    try:
        with pytest.raises(KeyboardInterrupt):
            kernel[2](X.copy())
    finally:
        signal.signal(signal.SIGINT, handler)
    assert threading.active_count() == threads
    assert same_bits(swap_halves[2](X, True), np.roll(X, 2, 0))


@pytest.mark.parametrize("lnc", [1, 2])
@pytest.mark.parametrize("barrier", [False, True])
def test_a_launch_keeps_no_memory(lnc: int, barrier: bool) -> None:
    """Not even until Python looks for cycles: a training step launches faster than it does that."""

    @nki.jit
    def kernel(x: Any, y: Any) -> Any:
        core, cores = nl.program_id(0), nl.num_programs(0)
        out = shared(*x.shape)
        copy(out[2 * core : 4 if cores == 1 else 2 * core + 2], x[2 * core : 4 if cores == 1 else 2 * core + 2])
        if barrier:
            nisa.core_barrier(data=out, cores=tuple(range(cores)))
        copy(y[core : core + 1], x[core : core + 1])
        return out

    was = gc.isenabled()
    gc.disable()
    try:
        x, y = X.copy(), X.copy()
        out = kernel[lnc](x, y)
        alive = [weakref.ref(array) for array in (x, y, out)]
        del x, y, out
        assert [one() for one in alive] == [None] * 3
    finally:
        if was:
            gc.enable()


def test_results_of_both_cores_come_from_shared_memory() -> None:
    @nki.jit
    def kernel(x: Any, rows: int) -> Any:
        core = nl.program_id(0)
        out = shared(4, 6)
        nisa.dma_copy(dst=out[2 * core : 2 * core + rows], src=tile(rows, 6, value=float(core)))
        return out

    expected = np.repeat(np.array([0.0, 1.0], np.float32), 12).reshape(4, 6)
    assert same_bits(kernel[2](X, 2), expected)
    with pytest.raises(nki.NkiValidationError, match="12 of 24 elements of the result"):
        kernel[2](X, 1)
