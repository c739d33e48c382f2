"""What a launch takes: memory per partition, bytes by DMA, cycles per engine, and an estimate of its time on Trn2.

    with accounting() as accounts:
        kernel(x)
    accounts[0].microseconds

The times are ESTIMATES from documented rates (`_rates`): each engine's instructions one after the other, the engines
side by side and never waiting for each other, so `microseconds` is what the busiest engine of the slower core needs and
`serial_microseconds` what all would need in turn. A real run lies between the two, or above where it waits for latency.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from ._core import PSUM_BANK_BYTES, PSUM_BANKS, SBUF_PARTITION_BYTES, Core, Launch
from ._cost import Cycles, Operand, cost, operand_of
from ._rates import CLOCK, DMA_BYTES_PER_SECOND, DMA_ISSUE_SECONDS, DMA_LEAST_BYTES, ENGINES, LEAST_CYCLES
from ._storage import Storage
from ._trace import Step, tracing

SBUF_LIMIT = SBUF_PARTITION_BYTES
PSUM_LIMIT = PSUM_BANKS * PSUM_BANK_BYTES
OCCUPANCY_POINTS = 240


@dataclass(frozen=True)
class Traced:
    """One instruction as it ran: its place in the core's program order, who runs it and on what."""

    number: int
    name: str
    core: int
    engine: str
    file: str
    line: int
    operands: tuple[Operand, ...]
    cost: Cycles
    sbuf: int  # the most bytes per partition that live tiles held since the instruction before
    psum: int


@dataclass(frozen=True)
class Transfers:
    """DMA in one direction, as "hbm to sbuf": bytes that arrive, and the contiguous pieces that carry them."""

    direction: str
    instructions: int
    bytes: int
    descriptors: int
    smallest: int  # bytes of a descriptor
    median: int  # half of the descriptors are no larger


@dataclass
class Line:
    """What one instruction of a kernel's text takes, over all its runs in a launch."""

    file: str
    line: int
    instruction: str
    engine: str
    count: int = 0
    cycles: int = 0
    bytes: int = 0  # that DMA brings to their destination
    microseconds: float = 0.0  # of its engine, the cores in turn


@dataclass
class Account:
    """One launch. Counts and bytes are those of all its cores together, peaks and times those of the worst one."""

    kernel: str
    cores: int
    instructions: list[Traced] = field(default_factory=list)

    @property
    def sbuf_peak(self) -> int:
        """Most bytes per partition that live tiles held, of `SBUF_LIMIT`."""
        return max((each.sbuf for each in self.instructions), default=0)

    @property
    def psum_peak(self) -> int:
        """Most bytes per partition in PSUM, of `PSUM_LIMIT`; a tile above 2 KiB takes whole banks."""
        return max((each.psum for each in self.instructions), default=0)

    @property
    def counts(self) -> dict[str, int]:
        """Instructions per engine."""
        return {engine: sum(each.engine == engine for each in self.instructions) for engine in ENGINES}

    @property
    def cycles(self) -> dict[str, int]:
        """Estimated cycles per engine; DMA has none."""
        return {
            engine: sum(each.cost.cycles for each in self.instructions if each.engine == engine) for engine in CLOCK
        }

    @property
    def operations(self) -> int:
        """Two for each product that a matmul adds, one per element and operator of the others; moving data is none."""
        return sum(each.cost.operations for each in self.instructions)

    @property
    def hbm_bytes(self) -> int:
        """Bytes read from HBM and written to it."""
        return sum(each.cost.hbm_bytes for each in self.instructions)

    @property
    def intensity(self) -> float:
        """Operations per byte of HBM traffic."""
        return self.operations / self.hbm_bytes if self.hbm_bytes else 0.0

    @property
    def transfers(self) -> list[Transfers]:
        """DMA by direction."""
        by_direction: dict[str, list[Cycles]] = {}
        for each in self.instructions:
            if each.cost.direction:
                by_direction.setdefault(each.cost.direction, []).append(each.cost)
        found = []
        for direction, costs in sorted(by_direction.items()):
            sizes: Counter[int] = Counter()
            for moved in costs:
                sizes.update(moved.descriptors)
            found.append(
                Transfers(
                    direction=direction,
                    instructions=len(costs),
                    bytes=sum(moved.bytes for moved in costs),
                    descriptors=sizes.total(),
                    smallest=min(sizes),
                    median=_median(sizes),
                )
            )
        return found

    def busy(self, core: int) -> dict[str, float]:
        """Estimated microseconds that each engine of a core works."""
        seconds = dict.fromkeys(ENGINES, 0.0)
        issued = 0
        for each in self.instructions:
            if each.core == core:
                clock = CLOCK.get(each.engine)
                seconds[each.engine] += each.cost.seconds if clock is None else each.cost.cycles / clock
                issued += each.engine == "dma"
        seconds["dma"] = max(seconds["dma"], issued * DMA_ISSUE_SECONDS)
        return {engine: 1e6 * taken for engine, taken in seconds.items()}

    @property
    def slower(self) -> dict[str, float]:
        """`busy` of the core whose busiest engine works longest."""
        return max((self.busy(core) for core in range(self.cores)), key=lambda busy: max(busy.values()))

    @property
    def bound(self) -> str:
        """The engine that bounds the launch."""
        busy = self.slower
        return max(busy, key=lambda engine: busy[engine])

    @property
    def microseconds(self) -> float:
        """Estimated time with all engines side by side: at best."""
        return max(self.slower.values())

    @property
    def serial_microseconds(self) -> float:
        """Estimated time with one engine at a time."""
        return sum(self.slower.values())

    @property
    def roofline_microseconds(self) -> float:
        """What its HBM traffic alone, or its products alone, would take at full rates on all its cores: the longer of
        the two (Williams, Waterman and Patterson, 2009).
        """
        traffic = self.hbm_bytes / DMA_BYTES_PER_SECOND
        products = sum(each.cost.peak_cycles for each in self.instructions) / CLOCK["tensor"]
        return 1e6 * max(traffic, products) / self.cores

    def lines(self) -> list[Line]:
        """Each instruction of the kernel's text, the one that takes longest first."""
        found: dict[tuple[str, int, str, str], Line] = {}
        for each in self.instructions:
            key = (each.file, each.line, each.name, each.engine)
            line = found.setdefault(key, Line(*key))
            line.count += 1
            line.cycles += each.cost.cycles
            line.bytes += each.cost.bytes
            line.microseconds += 1e6 * (each.cost.seconds or each.cost.cycles / CLOCK.get(each.engine, 1.0))
        return sorted(found.values(), key=lambda line: (-line.microseconds, line.line, line.instruction))

    def told(self) -> dict[str, Any]:
        """The account as plain values, without the single instructions."""
        return {
            "kernel": self.kernel,
            "cores": self.cores,
            "sbuf_peak": self.sbuf_peak,
            "psum_peak": self.psum_peak,
            "instructions": self.counts,
            "cycles": self.cycles,
            "busy_microseconds": self.slower,
            "bound": self.bound,
            "microseconds": self.microseconds,
            "serial_microseconds": self.serial_microseconds,
            "roofline_microseconds": self.roofline_microseconds,
            "operations": self.operations,
            "hbm_bytes": self.hbm_bytes,
            "transfers": [asdict(each) for each in self.transfers],
            "occupancy": self.occupancy(),
        }

    def occupancy(self) -> list[tuple[int, int, int]]:
        """(instruction, SBUF bytes, PSUM bytes) per partition over the life of the core with the higher SBUF peak; at
        most `OCCUPANCY_POINTS`, of which each holds the highest value of its stretch.
        """
        fullest = max(self.instructions, key=lambda each: each.sbuf, default=None)
        if fullest is None:
            return []
        own = [each for each in self.instructions if each.core == fullest.core]
        stretch = -(-len(own) // OCCUPANCY_POINTS)
        parts = [own[first : first + stretch] for first in range(0, len(own), stretch)]
        return [
            (first * stretch, max(each.sbuf for each in part), max(each.psum for each in part))
            for first, part in enumerate(parts)
        ]


def limits() -> dict[str, Any]:
    """The rates and limits behind an account."""
    return {
        "sbuf_bytes": SBUF_LIMIT,
        "psum_bytes": PSUM_LIMIT,
        "clock_hz": CLOCK,
        "least_cycles": LEAST_CYCLES,
        "dma_bytes_per_second": DMA_BYTES_PER_SECOND,
        "dma_least_bytes": DMA_LEAST_BYTES,
        "dma_issue_seconds": DMA_ISSUE_SECONDS,
    }


def _median(sizes: Mapping[int, int]) -> int:
    """The lower median of sizes that occur so many times each."""
    seen, half = 0, (sum(sizes.values()) + 1) // 2
    for size in sorted(sizes):
        seen += sizes[size]
        if seen >= half:
            break
    return size


@contextmanager
def accounting() -> Iterator[list[Account]]:
    """An account of every launch until the block ends, in the order in which they began."""
    accountant = _Accountant()
    with tracing(accountant):
        yield accountant.accounts


class _Accountant:
    def __init__(self) -> None:
        self.accounts: list[Account] = []
        self._of_launch: weakref.WeakKeyDictionary[Launch, Account] = weakref.WeakKeyDictionary()
        self._storages: weakref.WeakKeyDictionary[Storage, int] = weakref.WeakKeyDictionary()

    def before(self, step: Step) -> None:
        """Everything is known only afterwards."""

    def after(self, step: Step, handle: Any) -> None:
        """Writes the instruction down; keeps none of its tensors alive, which the kernel may be about to give back."""
        core = step.core
        account = self._account(core)
        operands = tuple(
            operand_of(parameter, view, self._storages.setdefault(view._storage, len(self._storages)))
            for parameter, view in step.operands()
        )
        engine, price = cost(step, operands)
        account.instructions.append(
            Traced(
                number=len(account.instructions),
                name=step.name,
                core=core.index,
                engine=engine,
                file=step.file,
                line=step.line,
                operands=operands,
                cost=price,
                sbuf=core.sbuf_most,
                psum=core.psum_most,
            )
        )
        core.sbuf_most, core.psum_most = core.sbuf_used, sum(core.bank_used)

    def _account(self, core: Core) -> Account:
        account = self._of_launch.get(core.launch)
        if account is None:
            account = self._of_launch[core.launch] = Account(core.launch.kernel, core.launch.cores)
            self.accounts.append(account)
        return account
