"""A launch that can be run again: its instructions with their operands, and the memory as it was before each."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _loops
from ._core import Core, Launch, enter
from ._dtypes import Array
from ._indirect import IndirectTensor
from ._isa_cores import exchange
from ._operands import Instruction
from ._registers import VirtualRegister
from ._storage import Storage
from ._tensor import NkiTensor
from ._trace import Step, instructions, is_written

MEETINGS = ("core_barrier", "sendrecv")
MOST_BYTES = 2 << 30
_CONTENTS = {"array", "core", "__weakref__"}  # slots of a storage that are not set back by copying


class NotCheckedError(Exception):
    """A launch that cannot be run again in another order; the message says why."""


@dataclass(eq=False)
class Access:
    """Elements that an instruction touches: all of the storage's where the address is known at run time only."""

    storage: Storage
    elements: Array
    written: bool


@dataclass(eq=False)
class Node:
    """One instruction of a core, with operands of its own that outlive the kernel's tiles."""

    name: str
    core: int
    file: str
    line: int
    given: dict[str, Any]
    accesses: list[Access]
    states: set[Any]  # registers and generators that it uses, which stay in order
    in_order: bool  # inside nl.no_reorder
    handle: Any = None

    @property
    def label(self) -> str | None:
        """What the kernel calls it (`name=`)."""
        return self.given.get("name")

    def __str__(self) -> str:
        return f"nki.isa.{self.name} ({self.file}:{self.line})"


@dataclass(eq=False)
class _Kept:
    """A storage that stands for one of the kernel's: the same memory, not counted in SBUF or PSUM."""

    storage: Storage
    core: int
    slots: dict[str, Any]  # as they were when an instruction first used it
    contents: Array | None  # None: nothing yet, or the caller's memory, which is set back by itself


@dataclass(eq=False)
class Recording:
    """What is told of one launch by `tracing`, in program order; `cores` are as many lists of instructions."""

    caller: Sequence[Array]  # the memory of the launch's arguments
    cores: list[list[Node]] = field(default_factory=lambda: [[], []])
    kept_bytes: int = 0

    def __post_init__(self) -> None:
        self._functions = instructions()
        self._kept: weakref.WeakKeyDictionary[Storage, _Kept] = weakref.WeakKeyDictionary()
        self._all: list[_Kept] = []
        self._registers: dict[VirtualRegister, int | None] = {}
        self._before = [array.copy() for array in self.caller]
        self._running: dict[int, Node] = {}

    # What the trace tells.

    def before(self, step: Step) -> None:
        """Keeps the operands, and the memory that an instruction meets for the first time."""
        given = {parameter: self._own(value) for parameter, value in step.given.items()}
        own = Step(step.name, step.core, step.file, step.line, given)
        states: set[Any] = set()
        accesses = []
        for parameter, view in own.operands():
            register = view._index if isinstance(view, IndirectTensor) else None
            if isinstance(register, VirtualRegister):
                states.add(register)
            elements = view._storage.array if isinstance(view, IndirectTensor) else view._array
            accesses.append(Access(view._storage, elements, is_written(parameter)))
        states.update(value for value in given.values() if isinstance(value, VirtualRegister))
        for register in states:
            self._registers.setdefault(register, register._held)
        if {"reduce_cmd", "reduce_res"} & given.keys():
            states.add(("accumulators", "scalar" if step.name.startswith("activation") else "vector"))
        if step.name.startswith(("rng", "rand", "set_rng", "dropout")):
            states.add("random numbers")
        node = Node(step.name, step.core.index, step.file, step.line, given, accesses, states, _in_order(step.core))
        self._running[step.core.index] = node
        self.cores[step.core.index].append(node)

    def after(self, step: Step, handle: Any) -> None:
        """Keeps the handle, to which the kernel may still add dependencies."""
        self._running.pop(step.core.index).handle = handle

    def _own(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(self._own(one) for one in value)
        if not isinstance(value, NkiTensor):
            return value
        if isinstance(value, IndirectTensor):
            return type(value)(self._own(value._template), self._own(value._index), value._step, value._limit)
        return NkiTensor(self._keep(value._storage), value._array, value._offset, value._repeats)

    def _keep(self, storage: Storage) -> Storage:
        kept = self._kept.get(storage)
        if kept is None:
            own = object.__new__(type(storage))
            slots = {name: getattr(storage, name) for name in _slots(type(storage)) if hasattr(storage, name)}
            if hasattr(storage, "__dict__"):  # placed by hand: others at the same place are kept apart by the order
                slots |= {**vars(storage), "shares": weakref.WeakSet()}
            for name, value in slots.items():
                setattr(own, name, value)
            own.core = Core(Launch("", 1), 0)  # gives back what the kernel's own storage holds
            is_callers = any(np.may_share_memory(storage.array, array) for array in self.caller)
            is_new = not storage.full and storage._marks is None
            kept = self._kept[storage] = _Kept(
                own,
                storage.core.index,
                {name: _copied(value) for name, value in slots.items() if name not in _CONTENTS},
                None if is_callers or is_new else storage.array.copy(),
            )
            self._all.append(kept)
            self.kept_bytes += 0 if is_callers else storage.array.nbytes
            if self.kept_bytes > MOST_BYTES:
                raise NotCheckedError(f"its tiles, one after the other, take more than {MOST_BYTES >> 20} MiB")
        return kept.storage

    # Running it again.

    def run(self, order: Iterable[Node | tuple[Node, Node]]) -> None:
        """Runs the instructions in another order, from the memory as it was; a pair is where two cores meet."""
        launch = Launch("", sum(map(bool, self.cores)))
        cores = [Core(launch, 0), Core(launch, 1)]
        self._restore(cores)
        try:
            with np.errstate(all="ignore"):
                for item in order:
                    if isinstance(item, tuple):
                        self._meet(launch, *item)
                    else:
                        launch.running = item.core
                        enter(cores[item.core])
                        self._functions[item.name](**item.given)
        finally:
            enter(None)

    def _restore(self, cores: Sequence[Core]) -> None:
        for array, before in zip(self.caller, self._before, strict=True):
            array[...] = before
        for register, held in self._registers.items():
            register._held = held
        for kept in self._all:
            for name, value in kept.slots.items():
                setattr(kept.storage, name, _copied(value))
            if kept.contents is not None:
                kept.storage.array[...] = kept.contents
            kept.storage.core = cores[kept.core]

    def _meet(self, launch: Launch, mine: Node, theirs: Node) -> None:
        if mine.name == "sendrecv":
            exchange((mine.given["src"], mine.given["dst"]), (theirs.given["src"], theirs.given["dst"]))
        else:
            mine.given["data"]._storage.pass_barrier()


def _in_order(core: Core) -> bool:
    return core in _loops.in_order


def handles(nodes: Iterable[Node]) -> dict[int, Node]:
    """Instructions by the identity of their handles."""
    return {id(node.handle): node for node in nodes if isinstance(node.handle, Instruction)}


def _slots(kind: type) -> list[str]:
    return [name for base in kind.__mro__ for name in getattr(base, "__slots__", ()) if name != "__weakref__"]


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray | list) else value
