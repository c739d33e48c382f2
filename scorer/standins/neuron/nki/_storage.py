"""Memory behind tensors, and what the stand-in knows about each element: written or not, by whom, read or not.

An element that nothing has written may be moved, as on the device: a copy, a transpose or a DMA takes its mark along to
where it goes. Whoever computes with it is refused, and so is a result, or memory of the caller, that holds it.

`watched` says whether reads and writes have to be noted. An SBUF or HBM allocation is watched until all of it has been
written, which most kernels do with the first instruction; from then on it costs nothing.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ._core import Core, refuse_values
from ._dtypes import WIDE, Array, Dtype, declared, poison
from ._errors import refuse

if TYPE_CHECKING:
    from ._tensor import NkiTensor

Marks = NDArray[np.uint8]
Rows = NDArray[np.intp]
Known = NDArray[np.bool_] | None
"""Which elements of an operand were written; None: all."""

_EVER = 1  # mark of an element that was written; in shared HBM more bits follow


class Buffer(Enum):
    """Where a tensor lives."""

    sbuf = "sbuf"
    psum = "psum"
    private_hbm = "private_hbm"
    shared_hbm = "shared_hbm"

    def __repr__(self) -> str:
        return f"nl.{self.value}"


class Storage:
    """One allocation in SBUF or HBM: `array` in row-major order, and which of its elements were written.

    On chip the first dimension is the partition dimension and `partition_bytes` is what each partition holds.
    """

    __slots__ = (
        "__weakref__",
        "_marks",
        "_news",
        "_unit",
        "array",
        "buffer",
        "core",
        "full",
        "given",
        "name",
        "on_chip",
        "partition_bytes",
        "watched",
        "writable",
    )

    def __init__(self, core: Core, shape: tuple[int, ...], dtype: Dtype, buffer: Buffer, name: str) -> None:
        self.array: Array = np.empty(shape, WIDE.get(dtype, dtype) if core.launch.wide else dtype)
        poison(self.array)
        self._describe(core, buffer, name)

    def _describe(self, core: Core, buffer: Buffer, name: str) -> None:
        self.core = core
        self.buffer = buffer
        self.name = name
        self.on_chip = buffer is Buffer.sbuf or buffer is Buffer.psum
        self.partition_bytes = self.array.nbytes // self.array.shape[0]
        self.full = False
        self.watched = True
        self.writable = True
        self.given = False  # memory of the caller
        self._marks: Marks | None = None
        self._news = False  # marks that nobody has looked at all together
        self._unit = self.array.itemsize

    @classmethod
    def of(cls, array: Array, core: Core, name: str, writable: bool) -> Storage:
        """An HBM argument: memory of the caller, wholly written, updated in place if `writable`."""
        storage = cls.__new__(cls)
        storage.array = array
        storage._describe(core, Buffer.shared_hbm, name)
        storage.declare_full()
        storage.writable = writable
        storage.given = True
        return storage

    @property
    def label(self) -> str:
        """For messages: name with a trailing blank, or nothing."""
        return f"{self.name!r} " if self.name else ""

    @property
    def device_bytes(self) -> int:
        """Bytes that it takes of each partition of a device: fewer than here with NKI_PRECISE_FP=0."""
        return _partition_bytes(self.array.shape, declared(self.array.dtype))

    def declare_full(self) -> None:
        """Every element has been written."""
        self.full = True
        self.watched = False
        self._marks = None

    def note_read(self, view: NkiTensor, operand: str, rows: Rows | None = None) -> None:
        """Refuses a read of elements (in `rows` of `view`, if given) that nothing has written."""
        if self.full:
            return
        known = self.note_move(view, operand, rows)
        if known is not None:
            self._refuse_unwritten(view, int(known.size - np.count_nonzero(known)), known.size, operand)

    def note_move(self, view: NkiTensor, operand: str, rows: Rows | None = None) -> Known:
        """As `note_read` for an instruction that only moves what it reads: says which elements were written."""
        if self.full:
            return None
        marks = self._marks_under(view)
        if marks is not None and rows is not None:
            marks = marks[rows]
        if marks is None or not marks.all():
            return _known(marks, view.shape if rows is None else (rows.size, *view.shape[1:]))
        if (rows is None and self._covers(view)) or self._is_all_written():
            self.declare_full()
        return None

    def _is_all_written(self) -> bool:
        """Whether a tile that was written piece by piece is complete: looked at once after each piece, by a reader."""
        news, self._news = self._news, False
        return news and self._marks is not None and bool(self._marks.all())

    def _refuse_unwritten(self, view: NkiTensor, missing: int, size: int, operand: str) -> None:
        refuse_values(
            f"uninitialised read: {missing} of {size} elements of {self.buffer!r} tensor {self.label}{view.shape} were "
            "never written",
            operand,
        )

    def expect_write(self, view: NkiTensor) -> None:
        """`view` is about to be written as a whole, by an instruction that copies."""

    def note_write(self, view: NkiTensor, where: NDArray[np.bool_] | Rows | None = None) -> None:
        """Marks the elements under `view` (only those where `where` is true, or in the rows `where`) as written."""
        if self.full:
            return
        if where is None and self._covers(view):
            self.declare_full()
        else:
            self._mark(view, where, _EVER)

    def take_back(self, view: NkiTensor, missing: NDArray[np.bool_]) -> None:
        """What has just been written under `view` where `missing` is true came from where nothing had been written."""
        if self.given:
            refuse_values(
                f"{int(np.count_nonzero(missing))} of {missing.size} elements were never written; memory of the caller "
                "takes only what was",
                "src",
            )
            return
        if self._marks is None:
            self._marks = np.full(self.array.nbytes // self._unit, _EVER, np.uint8)
        self.full = False
        self.watched = True
        marks = self._marks_under(view)
        assert marks is not None
        marks[missing] &= 0xFF ^ _EVER

    def unwritten(self) -> int:
        """How many elements were never written."""
        if self.full:
            return 0
        if self._marks is None:
            return self.array.size
        return (self._marks.size - int(np.count_nonzero(self._marks))) * self._unit // self.array.itemsize

    def _mark(self, view: NkiTensor, where: NDArray[np.bool_] | Rows | None, mark: int) -> None:
        if self._marks is None:
            self._marks = np.zeros(self.array.nbytes // self._unit, np.uint8)
        self._marks_under(view)[... if where is None else where] = mark  # type: ignore[index]
        self._news = True

    def _covers(self, view: NkiTensor) -> bool:
        return view._array.nbytes == self.array.nbytes and not view._repeats

    def _marks_under(self, view: NkiTensor) -> Marks | None:
        if self._marks is None:
            return None
        if view._array.itemsize != self._unit and self._unit != 1:
            self._marks = np.repeat(self._marks, self._unit)
            self._unit = 1
        return _under(self._marks, self._unit, view)


def _known(marks: Marks | None, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Marks, one per element or per byte (none: nothing is written), as a truth value per element."""
    if marks is None:
        return np.zeros(shape, np.bool_)
    written: NDArray[np.bool_] = marks & _EVER != 0
    return np.all(written, axis=-1) if written.ndim > len(shape) else written


def _under(marks: Marks, unit: int, view: NkiTensor) -> Marks:
    """The marks, one per `unit` bytes of storage, under `view`; with a trailing dimension if an element has several."""
    array = view._array
    shape: tuple[int, ...] = array.shape
    strides = tuple(stride // unit for stride in array.strides)
    if unit != array.itemsize:
        shape, strides = (*shape, array.itemsize), (*array.strides, 1)
    return np.ndarray(shape, np.uint8, marks, view._offset // unit, strides)


def _same_bytes(before: Array, after: Array, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Where two arrays agree in every bit: per element, or per byte if `shape` has a dimension for the bytes."""
    unit = np.uint8 if len(shape) > after.ndim else np.dtype(f"u{after.itemsize}")
    same: NDArray[np.bool_] = before.view(unit) == np.ascontiguousarray(after).view(unit)
    return same.reshape(shape)


def _partition_bytes(shape: tuple[int, ...], dtype: Dtype) -> int:
    return math.prod(shape[1:]) * dtype.itemsize


class SbufStorage(Storage):
    """An SBUF tile; gives its bytes back when nothing refers to it any more."""

    __slots__ = ()

    def __init__(self, core: Core, shape: tuple[int, ...], dtype: Dtype, name: str) -> None:
        core.reserve_sbuf(_partition_bytes(shape, dtype), name)
        super().__init__(core, shape, dtype, Buffer.sbuf, name)

    def __del__(self) -> None:
        if hasattr(self, "partition_bytes"):
            self.core.release_sbuf(self.device_bytes)


# States of a PSUM element. Reading turns 2 into 3 and leaves the others: state |= state >> 1.
_UNWRITTEN, _OTHER, _MATMUL, _MATMUL_READ = range(4)


class PsumStorage(Storage):
    """A PSUM tile. Always watched: a matmul may accumulate only onto what matmuls wrote and nobody read since."""

    __slots__ = ("_state", "_states", "bank", "banks")

    def __init__(self, core: Core, shape: tuple[int, ...], dtype: Dtype, name: str) -> None:
        self.bank, self.banks = core.reserve_psum(_partition_bytes(shape, dtype), name)
        super().__init__(core, shape, dtype, Buffer.psum, name)
        self._begin_states()

    def _begin_states(self) -> None:
        self._state: int | None = _UNWRITTEN  # of all elements, while they have the same: then _states means nothing
        self._states: Marks = np.empty(self.array.size, np.uint8)

    def __del__(self) -> None:
        if hasattr(self, "partition_bytes"):
            self.core.release_psum(self.device_bytes, self.bank, self.banks)

    def declare_full(self) -> None:
        """Every element has been written; reads and writes are still noted."""
        super().declare_full()
        self.watched = True

    def note_read(self, view: NkiTensor, operand: str, rows: Rows | None = None) -> None:
        """As for any memory; and closes the accumulation groups that it reads."""
        super().note_read(view, operand, rows)
        self._close_groups(view)

    def note_move(self, view: NkiTensor, operand: str, rows: Rows | None = None) -> Known:
        """As for any memory; and closes the accumulation groups that it reads."""
        known = super().note_move(view, operand, rows)
        self._close_groups(view)
        return known

    def _close_groups(self, view: NkiTensor) -> None:
        if self._state is not None and self._is_whole(view):
            self._state |= self._state >> 1
            return
        states = self._states_under(view)
        states |= states >> 1

    def note_write(self, view: NkiTensor, where: NDArray[np.bool_] | Rows | None = None) -> None:
        """As for any memory; a matmul may no longer accumulate onto it."""
        super().note_write(view, where)
        if where is None and self._is_whole(view):
            self._state = _OTHER
            return
        states = self._states_under(view)
        states[... if where is None else where] = _OTHER

    def note_matmul(self, view: NkiTensor, accumulate: bool | None) -> NDArray[np.bool_] | bool:
        """Notes that a matmul writes `view` and returns where it adds to what is there (a bool if that is the same
        everywhere).

        `accumulate=None`: the first matmul to write an element overwrites it, later ones add. It makes no difference to
        zeros, with which kernels like to begin.
        """
        adds: NDArray[np.bool_] | bool = False
        if self._state is not None and self._is_whole(view):
            if accumulate is not False:
                self._check_group(np.array([self._state], np.uint8), accumulate, view)
                adds = bool(accumulate) or self._state == _MATMUL
            self._state = _MATMUL
        else:
            states = self._states_under(view)
            if accumulate is not False:
                self._check_group(states, accumulate, view)
                adds = bool(accumulate) or states == _MATMUL
            states[...] = _MATMUL
        super().note_write(view)
        return adds

    def _check_group(self, states: Marks, accumulate: bool | None, view: NkiTensor) -> None:
        if states.min() == states.max() == _MATMUL:
            return
        word = f"accumulate={accumulate}"
        if accumulate and (states == _UNWRITTEN).any():
            refuse(f"{word} on PSUM that no matmul has written yet; write accumulate=(k > 0)", "accumulate")
        others = states == _OTHER
        if others.any() and (accumulate or np.any(view._array[... if others.size == 1 else others])):
            refuse(
                f"{word} on PSUM contents that another instruction wrote (memset, copy, transpose): undefined on "
                "Trn2; the first matmul of a group must overwrite (accumulate=False)",
                "accumulate",
            )
        if (states == _MATMUL_READ).any():
            refuse(
                f"{word} on PSUM that was read since the group began; read it only after the group's last matmul, or "
                "copy it and start a new group (accumulate=False)",
                "accumulate",
            )

    def _is_whole(self, view: NkiTensor) -> bool:
        return view._array.itemsize == self.array.itemsize and self._covers(view)

    def _states_under(self, view: NkiTensor) -> Marks:
        if view._array.itemsize != self.array.itemsize:
            refuse("a PSUM tile cannot be used through a view of another element size", "dst")
        if self._state is not None:
            self._states.fill(self._state)
            self._state = None
        return _under(self._states, self.array.itemsize, view)


# Further marks of an element of shared HBM: since the last barrier on it, by core: written, read.
_WROTE = 2, 4
_READ = 8, 16


class SharedStorage(Storage):
    """HBM that two cores see. Always watched: between two barriers on it no core may touch what the other one wrote,
    nor write what the other one read.

    That both copy the same bytes to a place is no conflict: whoever is last, they are there. The cores take turns, so
    each looks only for what the other did before it in this stretch. While nobody has written a tensor (most arguments
    never are), its reads are only listed.
    """

    __slots__ = ("_before", "_read", "_touched")

    def __init__(self, core: Core, shape: tuple[int, ...], dtype: Dtype, name: str) -> None:
        super().__init__(core, shape, dtype, Buffer.shared_hbm, name)

    def _describe(self, core: Core, buffer: Buffer, name: str) -> None:
        super()._describe(core, buffer, name)
        self._before: Array | None = None  # what lay where the next write goes, if the other core wrote some of it
        self._read: list[tuple[int, NkiTensor, Rows | None]] = []
        self._touched = [False, False]
        core.launch.seen_by_both.append(self)

    def forget(self) -> None:
        """The launch has ended: nobody asks any more who read what."""
        self._read.clear()

    def declare_full(self) -> None:
        """Every element has been written; by whom is still of interest."""
        self.full = True

    def unwritten(self) -> int:
        """How many elements were never written."""
        if self.full:
            return 0
        if self._marks is None:
            return self.array.size
        return (self._marks.size - int(np.count_nonzero(self._marks & _EVER))) * self._unit // self.array.itemsize

    def note_read(self, view: NkiTensor, operand: str, rows: Rows | None = None) -> None:
        """As for any memory; and refuses what the other core wrote since the last barrier."""
        core = self._begin()
        marks = self._marks_under(view)
        if marks is None:
            if not self.full:
                size = view.size if rows is None else view.size // view.shape[0] * rows.size
                self._refuse_unwritten(view, size, size, operand)
            self._read.append((core, view, rows))
            return
        found = marks if rows is None else marks[rows]
        if not self.full and not (found & _EVER).all():
            missing = int(np.count_nonzero(found & _EVER == 0))
            self._refuse_unwritten(view, missing, found.size, operand)
        if self._touched[1 - core] and (found & _WROTE[1 - core]).any():
            self._refuse_race("reads elements", "wrote", operand)
        if rows is None:
            found |= _READ[core]
        else:
            marks[rows] = found | _READ[core]

    def note_move(self, view: NkiTensor, operand: str, rows: Rows | None = None) -> Known:
        """As `note_read`: what this core finds unwritten, the other one may be about to write."""
        self.note_read(view, operand, rows)
        return None

    def expect_write(self, view: NkiTensor) -> None:
        """Keeps what lies under `view` if the other core wrote some of it since the last barrier."""
        core = self._begin()
        marks = self._marks_under(view)
        if marks is not None and self._touched[1 - core] and (marks & _WROTE[1 - core]).any():
            self._before = view._array.copy()

    def note_write(self, view: NkiTensor, where: NDArray[np.bool_] | Rows | None = None) -> None:
        """As for any memory; and refuses to change what the other core wrote since the last barrier, and to write what
        it read.
        """
        core = self._begin()
        if self._marks is None:
            self._start_marks()
        marks = self._marks_under(view)
        assert marks is not None
        before, self._before = self._before, None
        if self._touched[1 - core]:
            found = marks if where is None else marks[where]
            if before is not None:
                found = np.where(
                    _same_bytes(before, view._array, marks.shape), found & (0xFF ^ _WROTE[1 - core]), found
                )
            if (found & (_WROTE[1 - core] | _READ[1 - core])).any():
                did = "wrote" if (found & _WROTE[1 - core]).any() else "reads"
                self._refuse_race("overwrites elements", did, "dst")
        marks[... if where is None else where] = _EVER | _WROTE[core]

    def pass_barrier(self) -> None:
        """Both cores have passed a barrier on this tensor: what either did to it before is of no interest any more."""
        self._touched = [False, False]
        self._read.clear()
        if self._marks is not None:
            self._marks &= _EVER

    def _begin(self) -> int:
        running = self.core.launch.running
        self._touched[running] = True
        return running

    def _start_marks(self) -> None:
        self._marks = np.full(self.array.nbytes // self._unit, _EVER if self.full else 0, np.uint8)
        for core, view, rows in self._read:
            marks = self._marks_under(view)
            assert marks is not None
            marks[... if rows is None else rows] |= _READ[core]
        self._read.clear()

    def _refuse_unwritten(self, view: NkiTensor, missing: int, size: int, operand: str) -> None:
        refuse_values(
            f"uninitialised read: {missing} of {size} elements of {self.buffer!r} tensor {self.label}{view.shape} were "
            "never written (what the other core writes counts only after a nki.isa.core_barrier on this tensor)",
            operand,
        )

    def _refuse_race(self, does: str, did: str, operand: str) -> None:
        running = self.core.launch.running
        refuse_values(
            f"data race: core {running} {does} of nl.shared_hbm tensor {self.label}that core {1 - running} {did} in "
            "this launch, with no barrier on it between; give each core its own rows, or let both pass a "
            "nki.isa.core_barrier with data=this tensor in between",
            operand,
        )


def allocate(core: Core, shape: tuple[int, ...], dtype: Dtype, buffer: Buffer, name: str) -> Storage:
    """New poisoned memory. `shared_hbm` under LNC 2: the second core gets what the first one allocated, in order."""
    if buffer is Buffer.sbuf:
        return SbufStorage(core, shape, dtype, name)
    if buffer is Buffer.psum:
        return PsumStorage(core, shape, dtype, name)
    if buffer is Buffer.private_hbm or core.launch.cores == 1:
        return Storage(core, shape, dtype, buffer, name)
    return _shared(core, shape, dtype, name)


def argument(core: Core, array: Array, name: str, writable: bool) -> Storage:
    """The storage of a launch argument in HBM, over the caller's memory."""
    return (Storage if core.launch.cores == 1 else SharedStorage).of(array, core, name, writable)


def _shared(core: Core, shape: tuple[int, ...], dtype: Dtype, name: str) -> Storage:
    """The first core to come allocates; the other one's allocation with the same number is the same tensor."""
    shared = core.launch.shared
    position = core.shared_allocated
    core.shared_allocated += 1
    if position == len(shared):
        shared.append(SharedStorage(core, shape, dtype, name))
    found = shared[position]
    if (shape, dtype, name) != (found.array.shape, found.array.dtype, found.name):
        refuse(
            f"core {core.index} allocates nl.shared_hbm tensor number {position} as {shape} {dtype}, core "
            f"{1 - core.index} allocated {found.array.shape} {found.array.dtype}; both cores must have the same "
            "control flow"
        )
    return found
