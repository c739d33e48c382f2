"""Tiles that the kernel places itself: `nl.ndarray(..., address=(partition, bytes))`.

The documentation does not give the unit of the second number; AWS's own kernel library passes bytes per partition, and
so it is read here. Two tiles may be given one address: writing one of them takes the contents of the other away, and
reading those is refused, as the device would return something else.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import numpy as np
from numpy.typing import NDArray

from ._core import PARTITIONS, PSUM_BANK_BYTES, SBUF_PARTITION_BYTES, Core
from ._dtypes import Dtype, declared
from ._errors import refuse
from ._storage import Buffer, Known, PsumStorage, Rows, SbufStorage, Storage
from ._tensor import QUADRANT, NkiTensor


class _Placed(Storage):
    """Memory at a given place. `shares` are the live tiles that lie, at least in part, where this one does."""

    partition: int
    last: int  # partition behind it
    start: int  # byte within each partition
    end: int
    overwriter: str | None
    shares: WeakSet[_Placed]

    def _put(self, address: tuple[int, int]) -> None:
        self.partition, self.start = address
        self.last = self.partition + self.array.shape[0]
        self.end = self.start + self.device_bytes
        self.overwriter = None
        self.shares = WeakSet()
        placed = _placed.setdefault(self.core, {}).setdefault(self.buffer, WeakSet())
        for other in list(placed):
            if self.is_over(other):
                self.shares.add(other)
                other.shares.add(self)
                other.watched = True
        placed.add(self)

    def is_over(self, other: _Placed) -> bool:
        """Whether the two places have bytes in common."""
        return (
            self.start < other.end
            and other.start < self.end
            and self.partition < other.last
            and other.partition < self.last
        )

    def declare_full(self) -> None:
        """Every element has been written; another tile may still take that away."""
        super().declare_full()
        self.watched = bool(self.shares)

    def note_move(self, view: NkiTensor, operand: str, rows: Rows | None = None) -> Known:
        """As for any memory; but contents that a tile at the same place has overwritten are refused, too."""
        if self.overwriter is not None and not self.full:
            written = self._marks_under(view)
            if written is None or not (written if rows is None else written[rows]).all():
                refuse(
                    f"{self.buffer!r} tensor {self.label}{view.shape}, bytes {self.start} to {self.end} of each "
                    f"partition, was overwritten by tile {self.overwriter} that was placed there too, and not written "
                    "since",
                    operand,
                )
        return super().note_move(view, operand, rows)

    def note_write(self, view: NkiTensor, where: NDArray[np.bool_] | Rows | None = None) -> None:
        """As for any memory; what shares its place loses its contents."""
        super().note_write(view, where)
        for other in self.shares:
            other.lose(self)

    def lose(self, to: _Placed) -> None:
        """Its contents were overwritten."""
        self.full, self.watched, self._marks = False, True, None
        self.overwriter = f"{to.name!r} of shape {to.array.shape}"


class PlacedSbuf(_Placed, SbufStorage):
    """A placed SBUF tile."""

    def __init__(self, core: Core, shape: tuple[int, ...], dtype: Dtype, name: str, address: tuple[int, int]) -> None:
        Storage.__init__(self, core, shape, dtype, Buffer.sbuf, name)
        _check(self, address, SBUF_PARTITION_BYTES)
        before = _union(core)
        self._put(address)
        core.reserve_sbuf(_union(core) - before, name)

    def __del__(self) -> None:
        if hasattr(self, "shares"):
            before = _union(self.core)
            _placed.get(self.core, {}).get(Buffer.sbuf, set()).discard(self)
            self.core.release_sbuf(before - _union(self.core))


class PlacedPsum(_Placed, PsumStorage):
    """A placed PSUM tile; several may lie in one bank."""

    def __init__(self, core: Core, shape: tuple[int, ...], dtype: Dtype, name: str, address: tuple[int, int]) -> None:
        Storage.__init__(self, core, shape, dtype, Buffer.psum, name)
        _check(self, address, len(core.bank_used) * PSUM_BANK_BYTES)
        if address[1] % PSUM_BANK_BYTES and (address[1] + self.device_bytes - 1) // PSUM_BANK_BYTES != (
            address[1] // PSUM_BANK_BYTES
        ):
            refuse(
                f"{address}: a PSUM tile of several banks starts on one (a multiple of {PSUM_BANK_BYTES})", "address"
            )
        self.bank = address[1] // PSUM_BANK_BYTES
        self.banks = -(-self.device_bytes // PSUM_BANK_BYTES)
        self._begin_states()
        before = _in_banks(core)
        self._put(address)
        core.occupy_psum([more - less for more, less in zip(_in_banks(core), before, strict=True)])
        self.occupies = True

    def __del__(self) -> None:
        if hasattr(self, "occupies"):
            before = _in_banks(self.core)
            _placed.get(self.core, {}).get(Buffer.psum, set()).discard(self)
            self.core.occupy_psum([more - less for more, less in zip(_in_banks(self.core), before, strict=True)])

    def declare_full(self) -> None:
        """Every element has been written; reads and writes are still noted."""
        super().declare_full()
        self.watched = True

    def note_matmul(self, view: NkiTensor, accumulate: bool | None) -> NDArray[np.bool_] | bool:
        """As for any PSUM; what shares its place loses its contents."""
        adds = super().note_matmul(view, accumulate)
        for other in self.shares:
            other.lose(self)
        return adds

    def lose(self, to: _Placed) -> None:
        """Its contents were overwritten: the next matmul into it begins a group."""
        super().lose(to)
        self._begin_states()


def is_placed(storage: Storage) -> bool:
    """Whether a tile was placed by hand."""
    return isinstance(storage, _Placed)


def lie_over(one: Storage, other: Storage) -> bool:
    """Whether two tiles of a core were placed where some bytes are the same."""
    return isinstance(one, _Placed) and isinstance(other, _Placed) and one.buffer is other.buffer and one.is_over(other)


def place(core: Core, shape: tuple[int, ...], dtype: Dtype, buffer: Buffer, name: str, address: Any) -> Storage:
    """New memory at `address`, (first partition, byte within each partition)."""
    if (
        not isinstance(address, (tuple, list))
        or len(address) != 2
        or not all(isinstance(part, (int, np.integer)) and part >= 0 for part in address)
    ):
        refuse(f"{address!r}, expected (first partition, byte within each partition)", "address")
    where = (int(address[0]), int(address[1]))
    if buffer is Buffer.sbuf:
        return PlacedSbuf(core, shape, dtype, name, where)
    if buffer is not Buffer.psum:
        refuse(f"given for {buffer!r}; only SBUF and PSUM tiles are placed", "address")
    return PlacedPsum(core, shape, dtype, name, where)


_placed: WeakKeyDictionary[Core, dict[Buffer, WeakSet[_Placed]]] = WeakKeyDictionary()


def _check(tile: Storage, address: tuple[int, int], limit: int) -> None:
    partition, start = address
    if partition % QUADRANT or partition + tile.array.shape[0] > PARTITIONS:
        refuse(
            f"{address} for {tile.array.shape}: starts at partition 0, 32, 64 or 96 and ends at {PARTITIONS} at most",
            "address",
        )
    element = declared(tile.array.dtype)
    if start % element.itemsize or start + tile.device_bytes > limit:
        refuse(
            f"{address} for {tile.array.shape} {element}: a multiple of the element's {element.itemsize} "
            f"bytes, and at most {limit - tile.device_bytes} (a partition has {limit})",
            "address",
        )


def _union(core: Core) -> int:
    """Bytes per partition that live placed SBUF tiles cover together."""
    return _covered(core, Buffer.sbuf, 0, SBUF_PARTITION_BYTES)


def _in_banks(core: Core) -> list[int]:
    """The same for each PSUM bank."""
    firsts = (bank * PSUM_BANK_BYTES for bank in range(len(core.bank_used)))
    return [_covered(core, Buffer.psum, first, first + PSUM_BANK_BYTES) for first in firsts]


def _covered(core: Core, buffer: Buffer, first: int, last: int) -> int:
    covered, end = 0, first
    for tile in sorted(_placed.get(core, {}).get(buffer, ()), key=lambda tile: tile.start):
        covered += max(0, min(tile.end, last) - max(tile.start, end))
        end = max(end, min(tile.end, last))
    return covered
