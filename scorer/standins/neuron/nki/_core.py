"""The state of one launch: which core runs, what its SBUF and PSUM hold, its accumulator registers.

One `Launch` per kernel call, one `Core` per NeuronCore of it. Threads do not share a launch (autograd may run a
backward kernel on a thread of its own), so the running core is kept per thread.
"""

from __future__ import annotations

import gc
import itertools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._errors import refuse
from ._liveness import release_dead

if TYPE_CHECKING:
    from ._pair import Pair
    from ._storage import SharedStorage, Storage
    from .compiler import CompileConfig, SpecializationConfig

PARTITIONS = 128
SBUF_PARTITION_BYTES = 212_984
PSUM_BANKS = 8
PSUM_BANK_BYTES = 2048


_numbers = itertools.count()


def _rounding_seed() -> int | None:
    if os.environ.get("NEURON_RT_STOCHASTIC_ROUNDING_EN", "0") != "1":
        return None
    return int(os.environ.get("NEURON_RT_STOCHASTIC_ROUNDING_SEED", "0"))


def psum_banks() -> int:
    """How many banks kernels have: one less where dma_transpose is done by the Tensor engine, which needs it."""
    by_tensor_engine = os.environ.get("NKI_DMA_TRANSPOSE_AS_PE_TRANSPOSE", "").lower() not in ("", "0", "false")
    return PSUM_BANKS - 1 if by_tensor_engine else PSUM_BANKS


class Launch:
    """What the cores of one kernel call share: name, number of cores, shared HBM, the core that runs now, where they
    meet.

    `shapes_only`: the arguments stand for tensors of their shapes, so nothing that depends on numbers is refused.
    """

    def __init__(self, kernel: str, cores: int, shapes_only: bool = False) -> None:
        self.kernel = kernel
        self.cores = cores
        self.number = next(_numbers)  # of the launches of this process
        self.rounding_seed = _rounding_seed()  # None: to nearest even
        self.wide = os.environ.get("NKI_PRECISE_FP", "1") == "0"  # bf16 and fp8 are stored as fp32
        self.shapes_only = shapes_only
        self.running = 0
        self.failed: int | None = None  # the core of two that an error came from
        self.shared: list[Storage] = []
        self.seen_by_both: list[SharedStorage] = []
        self.pair: Pair | None = None
        self.compile_config: CompileConfig | None = None
        self.specialization_config: SpecializationConfig | None = None

    def end(self) -> None:
        """Lets go of what the cores shared, whose memory would else stay until Python looks for cycles."""
        self.pair = None
        self.shared.clear()
        while self.seen_by_both:
            self.seen_by_both.pop().forget()


class Core:
    """One NeuronCore during a launch."""

    def __init__(self, launch: Launch, index: int) -> None:
        self.launch = launch
        self.index = index
        self.sbuf_used = 0
        self.sbuf_most = 0  # since somebody last looked, who then sets it back
        self.bank_used = [0] * psum_banks()
        self.psum_most = 0
        self.shared_allocated = 0
        self.scalar_registers = Accumulators("Scalar")
        self.vector_registers = Accumulators("Vector")

    def reserve_sbuf(self, partition_bytes: int, name: str) -> None:
        """Counts a new tile of `partition_bytes` bytes per partition, for as long as the kernel can reach it;
        where they do not fit, for as long as it still reads or writes it.
        """
        if self.sbuf_used + partition_bytes > SBUF_PARTITION_BYTES:
            release_dead()
        if self.sbuf_used + partition_bytes > SBUF_PARTITION_BYTES:
            gc.collect()  # tiles that only refer to each other are out of the kernel's reach
        if self.sbuf_used + partition_bytes > SBUF_PARTITION_BYTES:
            refuse(
                f"SBUF overflow: tile {name!r} needs {partition_bytes} bytes per partition, {self.sbuf_used} of "
                f"{SBUF_PARTITION_BYTES} are held by live tiles; use smaller tiles, or use each for "
                "a shorter while"
            )
        self.sbuf_used += partition_bytes
        self.sbuf_most = max(self.sbuf_most, self.sbuf_used)

    def release_sbuf(self, partition_bytes: int) -> None:
        """Takes a tile that nothing refers to any more out of the count."""
        self.sbuf_used -= partition_bytes

    def reserve_psum(self, partition_bytes: int, name: str) -> tuple[int, int]:
        """Places a tile: (first bank, banks). Up to 2 KiB share a bank with others; more takes whole banks."""
        banks = -(-partition_bytes // PSUM_BANK_BYTES)
        count = len(self.bank_used)
        if banks > count:
            refuse(
                f"PSUM overflow: tile {name!r} needs {partition_bytes} bytes per partition; PSUM has {count} "
                f"banks x {PSUM_BANK_BYTES} = {count * PSUM_BANK_BYTES}"
            )
        share = partition_bytes if banks == 1 else PSUM_BANK_BYTES
        first = self._free_banks(banks, share)
        if first is None:
            release_dead()
            first = self._free_banks(banks, share)
        if first is None:
            gc.collect()
            first = self._free_banks(banks, share)
        if first is None:
            refuse(
                f"PSUM overflow: no {banks} free bank(s) for tile {name!r} of {partition_bytes} bytes per partition; "
                f"bytes in use per bank: {self.bank_used} of {PSUM_BANK_BYTES}; copy results to SBUF and drop "
                "references to the PSUM tiles"
            )
        self.occupy_psum([share if first <= bank < first + banks else 0 for bank in range(count)])
        return first, banks

    def _free_banks(self, banks: int, share: int) -> int | None:
        """The first of `banks` banks in a row that have `share` bytes each to spare."""
        for first in range(len(self.bank_used) - banks + 1):
            if all(used + share <= PSUM_BANK_BYTES for used in self.bank_used[first : first + banks]):
                return first
        return None

    def occupy_psum(self, changes: list[int]) -> None:
        """Adds `changes` to the bytes in use, bank by bank; refuses more than a bank has."""
        used = [before + change for before, change in zip(self.bank_used, changes, strict=True)]
        if max(used) > PSUM_BANK_BYTES:
            refuse(
                f"PSUM overflow: bytes in use per bank would be {used} of {PSUM_BANK_BYTES}, the tiles that the kernel "
                "does not place itself included"
            )
        self.bank_used = used
        self.psum_most = max(self.psum_most, sum(used))

    def release_psum(self, partition_bytes: int, first: int, banks: int) -> None:
        """Undoes `reserve_psum`."""
        share = partition_bytes if banks == 1 else PSUM_BANK_BYTES
        for bank in range(first, first + banks):
            self.bank_used[bank] -= share


class Accumulators:
    """128 fp32 registers of one engine, one per partition, in which reductions accumulate from instruction to
    instruction.

    They hold something only between a `reset`, `reset_reduce` or `load_reduce` and the next instruction of the engine
    that is idle or has another reduction: the hardware may overwrite them then, so the stand-in forgets them.
    """

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self._values: NDArray[np.float32] | None = None
        self._reduction: Any = None

    def forget(self) -> None:
        """The engine ran an instruction that may overwrite the registers."""
        self._values = None

    def start(self, partitions: int, initial: NDArray[np.float32] | float, reduction: Any) -> None:
        """Overwrites the registers of the first `partitions` partitions."""
        self._values = np.empty((partitions, 1), np.float32)
        self._values[...] = initial
        self._reduction = reduction

    def combine(self, values: NDArray[np.float32], reduction: Any) -> None:
        """Reduces `values` [P, 1] into the registers."""
        held = self._read(values.shape[0])
        if reduction.name != self._reduction.name:
            refuse(
                f"{self._engine} registers hold a {self._reduction} reduction, this instruction continues with "
                f"{reduction}; start with reduce_cmd=reset_reduce",
                "reduce_op",
            )
        self._values = reduction.reduce_pair(held, values)

    def read(self, partitions: int) -> NDArray[np.float32]:
        """The registers [P, 1], for `reduce_res`."""
        return self._read(partitions)

    def _read(self, partitions: int) -> NDArray[np.float32]:
        if self._values is None:
            refuse(
                f"the {self._engine} engine's accumulator registers hold nothing: not started with "
                "reduce_cmd=reset_reduce, or an instruction in between (idle included) may have overwritten them",
                "reduce_cmd",
            )
        if self._values.shape[0] != partitions:
            refuse(
                f"the {self._engine} engine's accumulator registers were started over {self._values.shape[0]} "
                f"partitions, this instruction uses {partitions}",
                "reduce_cmd",
            )
        return self._values


_local = threading.local()
watcher: Callable[[Core | None], None] | None = None
"""Is told of every core that a thread starts to run, and (None) of its end; set by `_trace.tracing`."""


def running() -> Core | None:
    """The core that runs a kernel on this thread, None outside a kernel."""
    core: Core | None = getattr(_local, "core", None)
    return core


def enter(core: Core | None) -> None:
    """Makes `core` the running one on this thread."""
    _local.core = core
    if watcher is not None:
        watcher(core)


@contextmanager
def shapes_only() -> Iterator[None]:
    """Launches of this thread are for the shapes of their results until the block ends, see `Launch`."""
    outside, _local.shapes_only = wants_shapes_only(), True
    try:
        yield
    finally:
        _local.shapes_only = outside


def wants_shapes_only() -> bool:
    """Whether this thread is inside `shapes_only`."""
    return getattr(_local, "shapes_only", False)


def refuse_values(message: str, operand: str | None = None) -> None:
    """Refuses what depends on the numbers in tensors; those of a launch for shapes only mean nothing."""
    core = running()
    if core is None or not core.launch.shapes_only:
        refuse(message, operand)


def current() -> Core:
    """The running core; an error outside a kernel."""
    core = running()
    if core is None:
        refuse("called outside a kernel; NKI functions work only inside a function that is launched through nki.jit")
    return core
