"""What one instruction costs by the documented rates: its engine, cycles, bytes and operations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from ._errors import NkiValidationError
from ._indirect import IndirectTensor
from ._patterns import reach
from ._rates import (
    DMA_BYTES_PER_SECOND,
    DMA_LEAST_BYTES,
    DMA_TRANSPOSE_SHARE,
    EXACT_INTEGERS,
    FAST_TYPES,
    GPSIMD_OPERATORS,
    LEAST_CYCLES,
    MATMUL_PASSES,
    PEAK_OPERATIONS_PER_CYCLE,
    PRICES,
    TRANSPOSE_PASSES,
    Cost,
    Price,
)
from ._storage import Buffer
from ._tensor import NkiTensor
from ._trace import Step, is_written


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor as an instruction was given it."""

    parameter: str
    buffer: str  # "sbuf", "psum" or "hbm"
    storage: int  # number of the allocation within the block that traces
    start: int  # bytes from the beginning of the allocation
    end: int  # past the last byte
    dtype: str
    shape: tuple[int, ...]
    bytes: int  # of all elements
    run: int  # contiguous bytes; on chip within a partition
    written: bool

    @property
    def per_partition(self) -> int:
        """Elements per partition."""
        return math.prod(self.shape[1:])


@dataclass(frozen=True, slots=True)
class Cycles:
    """The cost of one instruction."""

    cycles: int = 0
    seconds: float = 0.0  # of a DMA
    operations: int = 0
    peak_cycles: float = 0.0  # of a matmul: what its products alone would take with every tile full
    direction: str = ""  # of a DMA: "hbm to sbuf"
    bytes: int = 0  # that a DMA brings to its destination
    hbm_bytes: int = 0  # that it reads from HBM and writes there
    descriptors: dict[int, int] = field(default_factory=dict)  # bytes of a descriptor -> how many


def operand_of(parameter: str, view: NkiTensor, storage: int) -> Operand:
    """Describes a view, one with a run-time address as if it lay at the first; keeps nothing of it alive."""
    moves = view.is_indirect()
    if isinstance(view, IndirectTensor):
        view = view._template
    array = view._array
    before, behind = reach(array.strides, array.shape)
    on_chip = view._storage.on_chip
    return Operand(
        parameter=parameter,
        buffer=view._storage.buffer.value if on_chip else "hbm",
        storage=storage,
        start=view._offset + before,
        end=view._offset + behind + array.itemsize,
        dtype=str(array.dtype),
        shape=array.shape,
        bytes=array.size * array.itemsize,
        run=_run(array.shape, array.strides, array.itemsize, 1 if on_chip or moves else 0),
        written=is_written(parameter),
    )


def _run(shape: Sequence[int], strides: Sequence[int], itemsize: int, outermost: int) -> int:
    """Bytes that lie one after the other; dimensions before `outermost` never do."""
    run = itemsize
    for size, stride in zip(reversed(shape[outermost:]), reversed(strides[outermost:]), strict=True):
        if size > 1 and stride != run:
            break
        run *= size
    return run


def cost(step: Step, operands: Sequence[Operand]) -> tuple[str, Cycles]:
    """Engine and cost of an instruction. Raises NkiValidationError for one that `_rates.PRICES` lacks."""
    price = PRICES.get(step.name)
    if price is None:
        raise NkiValidationError(f"nki.isa.{step.name} has no documented rate in the stand-in: no estimate can be made")
    engine = _engine(step, price, operands)
    if price.cost is Cost.DMA:
        return engine, _dma(step, price, operands)
    operations = 0 if price.moves else _operations(step, operands)
    if price.cost is Cost.LEAST:
        return engine, Cycles(cycles=LEAST_CYCLES)
    if price.cost is Cost.MATMUL:
        moving = _named(operands, "moving")
        columns = moving.shape[-1] if _option(step, "perf_mode") == "double_row" else moving.per_partition
        transposes = bool(step.given.get("is_transpose"))
        passes = (TRANSPOSE_PASSES if transposes else MATMUL_PASSES).get(moving.dtype, 1)
        operations = 0 if transposes else operations
        rate = PEAK_OPERATIONS_PER_CYCLE * (2 if _option(step, "perf_mode") == "double_row" else 1)
        return engine, Cycles(
            cycles=passes * max(columns, LEAST_CYCLES), operations=operations, peak_cycles=passes * operations / rate
        )
    if price.cost is Cost.TRANSPOSE and engine == "tensor":
        data = _named(operands, "data")
        cycles = TRANSPOSE_PASSES.get(data.dtype, 1) * max(data.shape[0], LEAST_CYCLES)
    else:
        cycles = price.passes * max(_elements(operands) // _speed(price, engine, operands), LEAST_CYCLES)
        if any(operand.parameter == "reduce_res" for operand in operands):
            cycles += LEAST_CYCLES  # the registers are read by an instruction of their own
    return engine, Cycles(cycles=cycles, operations=operations)


def _engine(step: Step, price: Price, operands: Sequence[Operand]) -> str:
    asked = _option(step, "engine")
    if price.cost is not Cost.DMA and asked not in ("", "unknown"):
        return asked
    if price.cost is Cost.TRANSPOSE:
        return "tensor" if _named(operands, "dst").buffer == Buffer.psum.value else "vector"
    if _option(step, "op") in GPSIMD_OPERATORS.get(step.name, ()) or _option(step, "op0") in GPSIMD_OPERATORS.get(
        step.name, ()
    ):
        return "gpsimd"
    if step.name == "tensor_tensor" and all(
        operand.dtype in EXACT_INTEGERS and operand.buffer == Buffer.sbuf.value for operand in operands
    ):
        return "gpsimd"
    return price.engine


def _speed(price: Price, engine: str, operands: Sequence[Operand]) -> int:
    """Elements per cycle and partition: the Vector engine's performance mode."""
    tiles = [operand for operand in operands if operand.per_partition > 1]
    if engine != "vector" or price.fast == 1 or any(tile.dtype not in FAST_TYPES for tile in tiles):
        return 1
    in_sbuf = [tile.buffer == Buffer.sbuf.value for tile in tiles]
    if price.fast == 2:
        return 2 if all(inside for tile, inside in zip(tiles, in_sbuf, strict=True) if not tile.written) else 1
    contiguous = all(tile.shape[-1] == 1 or tile.run > tile.bytes // math.prod(tile.shape) for tile in tiles)
    if all(in_sbuf):
        return 4 if contiguous else 2
    return 2 if contiguous and any(in_sbuf) else 1


def _elements(operands: Sequence[Operand]) -> int:
    """Elements per partition of the largest operand."""
    return max((operand.per_partition for operand in operands), default=0)


def _operations(step: Step, operands: Sequence[Operand]) -> int:
    if step.name == "nc_matmul":
        stationary, dst = _named(operands, "stationary"), _named(operands, "dst")
        return 2 * math.prod(stationary.shape[:-1]) * math.prod(dst.shape)
    operators = sum(
        parameter.startswith(("op", "reduce_op", "comp_op", "cmp_op")) and value is not None
        for parameter, value in step.given.items()
        if not parameter.startswith("operand")
    )
    return max(operators, 1) * max((math.prod(operand.shape) for operand in operands), default=0)


def _dma(step: Step, price: Price, operands: Sequence[Operand]) -> Cycles:
    written = [operand for operand in operands if operand.written]
    read = [operand for operand in operands if operand.parameter.startswith("src")]
    source, target = max(read, key=lambda operand: operand.bytes), written[0]
    moved = sum(operand.bytes for operand in read)
    size = min(source.run, target.run)
    count = math.ceil(moved / size)
    seconds = count * max(size, DMA_LEAST_BYTES) / DMA_BYTES_PER_SECOND
    if step.name == "dma_transpose":
        seconds = moved / DMA_BYTES_PER_SECOND / DMA_TRANSPOSE_SHARE[source.buffer]
    return Cycles(
        seconds=seconds,
        operations=0 if price.moves else moved // source.bytes * math.prod(target.shape),
        direction=f"{source.buffer} to {target.buffer}",
        bytes=target.bytes,
        hbm_bytes=sum(operand.bytes for operand in operands if operand.buffer == "hbm"),
        descriptors={size: count},
    )


def _named(operands: Sequence[Operand], parameter: str) -> Operand:
    return next(operand for operand in operands if operand.parameter == parameter)


def _option(step: Step, parameter: str) -> str:
    """The name of an operator or an enumeration's member that the instruction was given."""
    return str(getattr(step.given.get(parameter), "name", ""))
