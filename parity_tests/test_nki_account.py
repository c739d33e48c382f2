"""What is told of a launch: every instruction with its operands, and an estimate of what it takes on Trn2."""

from __future__ import annotations

import sys
import threading
from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
from nki import _core, _rates, _trace
from nki._account import Account, accounting

from parity_tests.nki_program import BF16, FP32, on_chip, product, run, same_bits, tile

# Of nki.isa, what hands its result to Python or to the engines' state, not to a tensor.
WITHOUT_DESTINATION = {"core_barrier", "set_rng_seed", "rand_set_state", "register_alloc", "scalar_load"}


@nki.jit
def scaled(x: Any, factor: float) -> Any:
    """x [N, F] -> x * factor, 128 rows at a time."""
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    for first in range(0, rows, 128):
        xt = nl.ndarray((128, width), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=xt, src=x[first : first + 128, 0:width])
        nisa.tensor_scalar(dst=xt, data=xt, op0=nl.multiply, operand0=factor)
        nisa.dma_copy(dst=out[first : first + 128, 0:width], src=xt)
    return out


def account_of(kernel: Any, *args: Any) -> Account:
    with accounting() as accounts:
        kernel(*args)
    assert len(accounts) == 1
    return accounts[0]


def cost_of(body: Any) -> Any:
    """The last instruction that `body` runs inside a kernel."""
    with accounting() as accounts:
        run(body)
    return accounts[0].instructions[-2]  # the last one stores the probe's result


def test_every_instruction_is_told_with_its_line_and_operands() -> None:
    found = account_of(scaled, np.ones((256, 512), np.float32), 2.0)
    assert [each.name for each in found.instructions] == 2 * ["dma_copy", "tensor_scalar", "dma_copy"]
    load, multiply, _ = found.instructions[3:]
    first_line = scaled.func.__code__.co_firstlineno
    assert (load.file, load.line, multiply.line) == (__file__, first_line + 7, first_line + 8)
    assert [(one.parameter, one.buffer, one.written) for one in load.operands] == [
        ("dst", "sbuf", True),
        ("src", "hbm", False),
    ]
    source = load.operands[1]
    assert (source.start, source.end, source.dtype, source.shape) == (128 * 2048, 256 * 2048, "float32", (128, 512))
    tile_written, tile_read = multiply.operands
    assert tile_written.storage == tile_read.storage == load.operands[0].storage != source.storage


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (lambda: tile(4, 6).__setitem__(..., tile(4, 6)), "tensor_copy"),
        (lambda: tile(4, 6).__setitem__(..., 2.0), "memset"),
        (lambda: nl.ndarray((4, 6), nl.float32, nl.private_hbm).__setitem__(..., tile(4, 6)), "dma_copy"),
    ],
)
def test_an_assignment_is_the_instruction_that_it_makes(body: Any, name: str) -> None:
    assert cost_of(body).name == name


@pytest.mark.parametrize("make", [nl.zeros, nl.ones, lambda *args, **more: nl.full(args[0], 3, *args[1:], **more)])
@pytest.mark.parametrize(
    ("shape", "descriptors"), [((2, 3), {24: 1}), ((4, 512), {2048: 4}), ((3, 700), {2048: 4, 208: 1})]
)
def test_filling_hbm_is_a_memset_and_copies_of_it(
    make: Any, shape: tuple[int, ...], descriptors: dict[int, int]
) -> None:
    with accounting() as accounts:
        run(lambda: make(shape, nl.float32, buffer=nl.private_hbm))
    fill, *copies = accounts[0].instructions[:-1]
    assert (fill.name, {each.name for each in copies}) == ("memset", {"dma_copy"})
    assert fill.operands[0].bytes == min(2048, 4 * shape[0] * shape[1])
    moved: dict[int, int] = {}
    for each in copies:
        moved.update(each.cost.descriptors)
    assert moved == descriptors
    assert sum(each.cost.bytes for each in copies) == 4 * shape[0] * shape[1]


def test_filling_a_tile_is_a_memset() -> None:
    assert cost_of(lambda: nl.zeros((4, 512), nl.float32)).name == "memset"


@pytest.mark.parametrize("given", [False, True])
def test_an_identity_matrix_is_brought_in_from_hbm(given: bool) -> None:
    def body() -> None:
        nl.shared_identity_matrix(128, BF16, dst=nl.ndarray((128, 128), BF16) if given else None)

    found = cost_of(body)
    assert (found.name, found.engine, found.cost.direction) == ("dma_copy", "dma", "hbm to sbuf")
    assert (found.cost.bytes, found.cost.hbm_bytes) == (2 * 128 * 128, 2 * 128 * 128)


def test_an_instruction_that_nobody_has_heard_of_is_told_and_has_no_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    def double(dst: Any, data: Any, name: str | None = None) -> Any:
        return nisa.tensor_scalar(dst=dst, data=data, op0=nl.multiply, operand0=2.0)

    monkeypatch.setattr(nisa, "double", double, raising=False)
    monkeypatch.setattr(nisa, "__all__", [*nisa.__all__, "double"])
    seen: list[_trace.Step] = []

    class Recorder:
        def before(self, step: _trace.Step) -> None:
            seen.append(step)

        def after(self, step: _trace.Step, handle: Any) -> None:
            assert seen[-1] is step

    def body(dst: Any, data: Any) -> None:
        nisa.double(dst=dst, data=data)

    with _trace.tracing(Recorder()):
        (doubled,) = on_chip(body, np.full((4, 4), 3.0, np.float32), outputs=[((4, 4), FP32)])
    assert [step.name for step in seen] == ["dma_copy", "double", "dma_copy"]  # what it is made of is not told again
    assert [parameter for parameter, _ in seen[1].operands()] == ["dst", "data"]
    assert (doubled == 6.0).all()
    with pytest.raises(nki.NkiValidationError, match=r"nki\.isa\.double has no documented rate"), accounting():
        on_chip(body, np.full((4, 4), 3.0, np.float32), outputs=[((4, 4), FP32)])


def test_every_instruction_has_an_engine_a_cost_and_a_destination() -> None:
    known = _trace.instructions()
    assert known.keys() == _rates.PRICES.keys()
    assert {price.engine for price in _rates.PRICES.values()} <= set(_rates.ENGINES)
    for name, function in known.items():
        code = function.__code__
        written = [one for one in code.co_varnames[: code.co_argcount] if _trace.is_written(one)]
        assert bool(written) != (name in WITHOUT_DESTINATION), name


@pytest.mark.parametrize("buffer", [nl.sbuf, nl.psum], ids=["sbuf", "psum"])
def test_a_tile_that_is_made_full_costs_the_memset_that_fills_it(buffer: Any) -> None:
    def made() -> None:
        nl.zeros((128, 200), dtype=nl.float32, buffer=buffer)
        nl.ones((128, 200), dtype=nl.int32, buffer=buffer)
        nl.full((128, 200), 2.5, dtype=nl.bfloat16, buffer=buffer)
        nl.ndarray((128, 200), dtype=nl.float32, buffer=buffer)

    with accounting() as accounts:
        run(made)
    found = [
        each for each in accounts[0].instructions if each.name == "memset" and each.operands[0].shape == (128, 200)
    ]
    assert [(each.engine, each.file) for each in found] == 3 * [("vector", __file__)]
    first_line = made.__code__.co_firstlineno
    assert [each.line for each in found] == [first_line + 1, first_line + 2, first_line + 3]
    assert min(each.cost.cycles for each in found) > 0


def test_telling_changes_nothing_and_ends_with_its_block() -> None:
    x = np.random.default_rng(0).standard_normal((256, 64)).astype(np.float32)
    plain = scaled(x, 0.3)
    with accounting():
        told = scaled(x, 0.3)
        with pytest.raises(RuntimeError, match="traced already"), accounting():
            pass
    assert same_bits(told, plain)
    assert _core.watcher is None
    assert sys.getprofile() is None
    with accounting() as accounts:
        pass
    assert scaled(x, 0.3).shape == x.shape
    assert accounts == []


def test_a_launch_on_another_thread_is_told() -> None:
    with accounting() as accounts:
        thread = threading.Thread(target=scaled, args=(np.ones((128, 8), np.float32), 2.0))
        thread.start()
        thread.join()
    assert [len(each.instructions) for each in accounts] == [3]


def test_tiles_are_given_back_while_the_launch_is_told() -> None:
    found = account_of(scaled, np.ones((1024, 4096), np.float32), 2.0)
    assert found.sbuf_peak == 2 * 4096 * 4  # the last tile is alive until its name is bound to the next
    assert found.psum_peak == 0
    assert found.occupancy()[0] == (0, 4096 * 4, 0)


@pytest.mark.parametrize(
    ("dtype", "width", "cycles"),
    [
        (nl.float32, 512, 4 * 512),  # four passes
        (nl.bfloat16, 512, 512),
        (nl.bfloat16, 16, 64),  # at least 64
    ],
)
def test_a_product_takes_a_cycle_for_each_moving_column(dtype: Any, width: int, cycles: int) -> None:
    found = cost_of(lambda: product(32, width, 128, dtype))
    assert (found.engine, found.cost.cycles, found.cost.operations) == ("tensor", cycles, 2 * 32 * width * 128)
    assert found.cost.peak_cycles == width * (cycles // max(width, 64)) * 32 / 128  # a quarter of the rows are in use


@pytest.mark.parametrize(
    ("instruction", "dtype", "step", "cycles"),
    [
        ("copy", nl.float32, 1, 1024),
        ("copy", nl.bfloat16, 1, 256),
        ("copy", nl.bfloat16, 2, 512),  # not contiguous: half as fast
        ("add", nl.float32, 1, 1024),
        ("add", nl.bfloat16, 1, 512),
        ("reciprocal", nl.float32, 1, 8 * 1024),
    ],
)
def test_the_vector_engine_is_faster_for_two_byte_types(instruction: str, dtype: Any, step: int, cycles: int) -> None:
    def body() -> None:
        source = tile(128, 1024 * step, dtype=dtype)[0:128, 0 : 1024 * step : step]
        out = tile(128, 1024, dtype=dtype)
        if instruction == "copy":
            nisa.tensor_copy(dst=out, src=source)
        elif instruction == "add":
            nisa.tensor_tensor(dst=out, data1=source, data2=source, op=nl.add)
        else:
            nisa.reciprocal(dst=out, data=source)

    found = cost_of(body)
    assert (found.engine, found.cost.cycles) == ("vector", cycles)


def test_the_engine_that_is_asked_for_runs_the_instruction() -> None:
    def body() -> None:
        nisa.tensor_copy(dst=tile(128, 100), src=tile(128, 100), engine=nisa.engine.scalar)

    found = cost_of(body)
    assert (found.engine, found.cost.cycles) == ("scalar", 100)


@pytest.mark.parametrize(("columns", "size", "count"), [(512, 2048, 128), (64, 256, 128), (1, 4, 128)])
def test_a_transfer_is_cut_where_either_side_is_not_contiguous(columns: int, size: int, count: int) -> None:
    @nki.jit
    def part(x: Any) -> Any:
        out = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.shared_hbm)
        xt = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=xt, src=x[0:128, 0:columns])
        nisa.dma_copy(dst=out, src=xt)
        return out

    found = account_of(part, np.ones((128, 1024), np.float32))
    load, _ = found.instructions
    assert load.cost.descriptors == {size: count}
    assert load.cost.seconds == pytest.approx(count * 2048 / 368e9)  # a small descriptor lasts as long as 2 KiB
    assert [(one.direction, one.bytes, one.descriptors, one.median) for one in found.transfers] == [
        ("hbm to sbuf", 128 * columns * 4, count, size),
        ("sbuf to hbm", 128 * columns * 4, count, size),
    ]
    assert found.hbm_bytes == 2 * 128 * columns * 4


def test_the_busiest_engine_of_the_slower_core_bounds_the_launch() -> None:
    x = np.ones((512, 2048), np.float32)
    one, two = account_of(scaled, x, 2.0), account_of(nki.jit(shared_out)[2], x)
    moved = 4 * 128 * 2 * 2048 * 4
    assert one.bound == "dma"
    assert one.microseconds == pytest.approx(1e6 * moved / 368e9)
    assert one.serial_microseconds == pytest.approx(one.microseconds + 1e6 * 4 * 2048 / 0.96e9)
    assert one.intensity == pytest.approx(512 * 2048 / moved)
    assert one.roofline_microseconds == pytest.approx(one.microseconds)  # all that it takes is traffic at full rate
    assert two.roofline_microseconds == pytest.approx(one.microseconds / 2)  # ... which two cores could share evenly
    assert two.microseconds == pytest.approx(3 / 4 * one.microseconds)  # core 0 has three of the four tiles
    assert (one.counts["dma"], two.counts["dma"]) == (8, 8)


def shared_out(x: Any) -> Any:
    """As `scaled`, three quarters of the rows for core 0."""
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    start, stop = (0, 3 * rows // 4) if nl.program_id(0) == 0 else (3 * rows // 4, rows)
    for first in range(start, stop, 128):
        xt = nl.ndarray((128, width), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=xt, src=x[first : first + 128, 0:width])
        nisa.tensor_scalar(dst=xt, data=xt, op0=nl.multiply, operand0=2.0)
        nisa.dma_copy(dst=out[first : first + 128, 0:width], src=xt)
    return out


def test_rows_that_an_index_chooses_are_a_descriptor_each() -> None:
    @nki.jit
    def gathered(table: Any, rows: Any) -> Any:
        out = nl.ndarray((16, 64), dtype=table.dtype, buffer=nl.shared_hbm)
        index = nl.ndarray((16, 1), dtype=nl.int32, buffer=nl.sbuf)
        tile = nl.ndarray((16, 64), dtype=table.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=index, src=rows)
        nisa.dma_copy(dst=tile, src=table.ap([[64, 16], [1, 64]], vector_offset=index))
        nisa.dma_copy(dst=out, src=tile)
        return out

    found = account_of(gathered, np.ones((128, 64), np.float32), np.arange(16, dtype=np.int32)[:, None])
    gather = found.instructions[1]
    assert [one.parameter for one in gather.operands] == ["dst", "src", "index of src"]
    assert (gather.cost.bytes, gather.cost.descriptors) == (16 * 64 * 4, {256: 16})


def test_bf16_halves_what_is_moved() -> None:
    wide, narrow = (account_of(scaled, np.ones((128, 2048), dtype), 2.0) for dtype in (FP32, BF16))
    assert narrow.hbm_bytes * 2 == wide.hbm_bytes
    assert narrow.cycles["vector"] * 4 == wide.cycles["vector"]
