"""What the kernels of one update take, as the observer's accounts tell it: estimates from documented rates."""

from __future__ import annotations

import contextlib
from collections import Counter
from pathlib import Path
from typing import Literal

from pydantic import Field

from scorer.files import write_atomic
from scorer.room import records
from scorer.room.receipts import Record, Site

FILE = "kernels-rank-{}.json"


class Limits(Record):
    """Rates and limits of Trn2 that the accounts were made with."""

    sbuf_bytes: int = Field(description="per partition")
    psum_bytes: int = Field(description="per partition")
    clock_hz: dict[str, float] = Field(description="cycles per second of each engine")
    least_cycles: int = Field(description="of an instruction, however small its operands")
    dma_bytes_per_second: float = Field(description="of a core")
    dma_least_bytes: int = Field(description="a smaller descriptor takes as long as one of so many bytes")
    dma_issue_seconds: float = Field(description="per DMA instruction, at least")


class Transfers(Record):
    """DMA in one direction."""

    direction: str = Field(description="hbm to sbuf")
    instructions: int
    bytes: int
    descriptors: int = Field(description="contiguous pieces")
    smallest: int = Field(description="bytes of the smallest descriptor")
    median: int = Field(description="half of the descriptors have no more bytes")


class AccountLine(Record):
    """An instruction of a kernel's text, over all its runs in one launch."""

    site: Site | None
    instruction: str
    engine: str
    count: int
    bytes: int = Field(description="that DMA brings to their destination")
    microseconds: float = Field(description="estimated time of its engine, the cores in turn")


class Exchanged(Record):
    """One of two instructions whose order matters and is not stated."""

    instruction: str
    site: Site | None


class OrderCheck(Record):
    """Whether the kernel gives the same bits in other orders of its instructions that the compiler may choose."""

    outcome: Literal["same", "differs", "not checked"]
    moved: int = Field(default=0, description="instructions that had another place in an order that was tried")
    told: str = Field(default="", description="how the results differ, or why it was not checked")
    over: str = Field(default="", description="tensors that lie over the same memory")
    exchanged: list[Exchanged] = Field(default_factory=list, description="the earlier and the later one")


class KernelAccount(Record):
    """What one launch of a kernel with one signature takes. Times and cycles are estimates."""

    kernel: str
    cores: int = Field(description="1 or 2")
    signature: str = Field(description="dtypes and shapes of its arguments, and its constants")
    site: Site | None = Field(description="where it is defined")
    launches: int = Field(default=0, description="in the update")
    sbuf_peak: int = Field(description="most bytes per partition that live tiles held")
    psum_peak: int = Field(description="most bytes per partition in PSUM")
    instructions: dict[str, int] = Field(description="per engine, its cores together")
    cycles: dict[str, int] = Field(description="estimated, per engine, its cores together")
    busy_microseconds: dict[str, float] = Field(description="estimated, per engine of the slower core")
    bound: str = Field(description="the engine that works longest")
    microseconds: float = Field(description="estimated, all engines side by side: at best")
    serial_microseconds: float = Field(description="estimated, one engine at a time")
    roofline_microseconds: float = Field(
        default=0.0, description="what its HBM traffic alone or its products alone would take at full rates"
    )
    operations: int
    hbm_bytes: int = Field(description="read and written")
    transfers: list[Transfers]
    occupancy: list[tuple[int, int, int]] = Field(description="instruction, SBUF and PSUM bytes per partition")
    lines: list[AccountLine] = Field(description="those that take longest")
    order: OrderCheck

    @property
    def intensity(self) -> float:
        """Operations per byte of HBM traffic."""
        return self.operations / self.hbm_bytes if self.hbm_bytes else 0.0


class RankAccounts(Record):
    """The kernels of one rank's first update, in the order of their first launches."""

    rank: int
    limits: Limits
    kernels: list[KernelAccount]

    @property
    def microseconds(self) -> float:
        """Estimated time of all launches of the update."""
        return sum(kernel.launches * kernel.microseconds for kernel in self.kernels)


def collect(room: Path, keep: Path) -> None:
    """Take the accounts out of the room, a file per rank that has any."""
    for path in sorted(room.glob("rank-*.jsonl")):
        # A journal that the observer cannot have written, because the program wrote into it, is left out.
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
            found = _read(path)
            if found is not None:
                write_atomic(keep / FILE.format(found.rank), found.model_dump_json(indent=1) + "\n")


def read(keep: Path) -> list[RankAccounts]:
    """The accounts that a lane kept, by rank; none where no kernel ran on the stand-in."""
    found = [RankAccounts.model_validate_json(path.read_bytes()) for path in keep.glob(FILE.format("*"))]
    return sorted(found, key=lambda each: each.rank)


def _read(path: Path) -> RankAccounts | None:
    lines = records.lines(path.read_bytes())
    limits = next((line["limits"] for line in lines if line["kind"] == "account-limits"), None)
    if limits is None:
        return None
    end = next((place for place, line in enumerate(lines) if line["kind"] == "update"), len(lines))
    launches = Counter(line["name"] for line in lines[:end] if line["kind"] == "accounted")
    accounts = {line["name"]: line["account"] for line in lines[:end] if line["kind"] == "account"}
    kernels = [
        KernelAccount.model_validate({**account, "launches": launches[name]}) for name, account in accounts.items()
    ]
    return RankAccounts(rank=int(lines[0]["rank"]), limits=Limits.model_validate(limits), kernels=kernels)
