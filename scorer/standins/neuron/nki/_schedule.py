"""Whether a kernel is right in program order only.

    check_order(kernel, x, weight, eps=1e-6)

On the device the engines run side by side, and the compiler orders their instructions as it likes: "free to reorder
independent operations" (nki.language.no_reorder), with synchronisation where one depends on another
(nki.isa.NkiInstruction, How to Use the NKI Scheduling APIs). What it knows of dependencies is taken here to be:

- two instructions of a core that touch the same element of the same tensor, through whatever views, one of them
  writing; an operand whose address is known at run time only (register, tensor of offsets) touches all of its tensor,
  and tiles that were placed by hand over each other count as one;
- the use of one register, of an engine's accumulators, of an engine's random numbers;
- `handle.depends_on(...)`, `kernel.with_schedule(...)`, and `nl.no_reorder`, whose instructions keep their order among
  themselves;
- where the two cores of LNC 2 meet (core_barrier, sendrecv), which none of either core's instructions passes.

Tensors are distinct for it: that two arguments lie over the same memory, say one being a slice of the other, it does
not see. A kernel whose result hangs on that gives it in program order, as the simulator runs it, and on the device as
it happens. Here the recorded instructions run again in other orders that keep every dependency, first the one that
brings every instruction as far forward as can be, then random ones by a fixed seed, and every bit of every result must
agree. Sums inside an instruction have one order throughout.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._dtypes import Array
from ._errors import NkiValidationError
from ._frameworks import framework_of
from ._kernel import Kernel
from ._placement import is_placed, lie_over
from ._recording import MEETINGS, Access, Node, NotCheckedError, Recording, handles
from ._storage import Storage
from ._trace import tracing

RANDOM_ORDERS = 3
_OVERLAP_WORK = 10_000  # candidates that NumPy may try; where that is not enough, the two are taken to overlap

Item = Node | tuple[Node, Node]


class OrderError(NkiValidationError):
    """A kernel is right in program order only: `second` may not run before `first`, and nothing says so."""

    def __init__(self, kernel: Kernel, first: Node, second: Node, how: str) -> None:
        over = _shared(first, second)
        super().__init__(
            f"right in program order only: the compiler sees no dependency on {first}; in the other order the kernel "
            f"{how}.{f' {over}.' if over else ''} Let both use the same tensor, or order them: "
            "handle.depends_on(...), nl.no_reorder()"
        )
        self.first, self.second, self.how, self.over = first, second, how, over
        self.kernel, self.file, self.line = kernel.__name__, second.file, second.line
        self.instruction = f"nki.isa.{second.name}"


def check_order(kernel: Kernel, *args: Any, **kwargs: Any) -> int:
    """Runs `kernel` on copies of its arguments, then in other legal orders; returns how many instructions moved.

    Raises OrderError where one changed a result, and NotCheckedError where the launch cannot be kept in memory or does
    something that no instruction does. 0 means that there is one order only.
    """
    memory, copies = _copies([*args, *kwargs.values()])
    values = copies[: len(args)]
    named = dict(zip(kwargs, copies[len(args) :], strict=True))
    recording = Recording(memory)
    with tracing(recording):
        found = kernel._launch(False, tuple(values), named)
    results = [array for array in (found if isinstance(found, tuple | list) else [found]) if array is not None]
    results += memory
    expected = [array.tobytes() for array in results]

    def differs(order: Sequence[Item]) -> str | None:
        """How the results of an order differ, None if they do not."""
        try:
            recording.run(order)
        except NkiValidationError as error:
            return f"is refused: {error.message}"
        changed = [number for number, array in enumerate(results) if array.tobytes() != expected[number]]
        if not changed:
            return None
        returned = len(results) - len(memory)
        return (
            f"changes result {changed[0]}" if changed[0] < returned else "changes an argument that is written in place"
        )

    program = _in_turn(recording.cores, [list(nodes) for nodes in recording.cores])
    if differs(program) is not None:
        raise NotCheckedError("its instructions alone, run again in program order, do not give the same results")
    befores = [_dependencies(nodes, kernel.schedule) for nodes in recording.cores]
    moved = 0
    for seed in range(1 + RANDOM_ORDERS):
        orders = [_other(nodes, before, seed) for nodes, before in zip(recording.cores, befores, strict=True)]
        order = _in_turn(recording.cores, orders)
        moved = max(moved, sum(a is not b for a, b in zip(program, order, strict=True)))
        if differs(order) is not None:
            raise _located(kernel, program, order, differs)
    return moved


def _copies(values: Sequence[Any]) -> tuple[list[Array], list[Any]]:
    """The arguments with arrays over new memory in the place of tensors; what shared memory shares it again.

    Also the new memory, in as many pieces as there are that share nothing.
    """
    arrays: dict[int, Array] = {}
    for value in values:
        framework = framework_of(value)
        if framework is not None:
            arrays[id(value)] = np.ascontiguousarray(framework.to_numpy(value))
    spans = sorted({(array.ctypes.data, array.ctypes.data + array.nbytes) for array in arrays.values()})
    merged: list[list[int]] = []
    for first, end in spans:
        if merged and first < merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([first, end])
    pieces = [np.zeros(end - first, np.uint8) for first, end in merged]
    new: dict[int, Array] = {}
    for key, array in arrays.items():
        first = array.ctypes.data
        number = next(number for number, span in enumerate(merged) if span[0] <= first < span[1])
        offset = first - merged[number][0]
        new[key] = np.ndarray(array.shape, array.dtype, pieces[number], offset)
        new[key][...] = array
    return pieces, [new.get(id(value), value) for value in values]


def _dependencies(nodes: Sequence[Node], schedule: Sequence[tuple[str, Sequence[str]]]) -> list[set[int]]:
    """For each instruction those before it that must run first, by their places."""
    before: list[set[int]] = [set() for _ in nodes]
    accesses: dict[Storage, list[tuple[int, Access]]] = {}
    last: dict[Any, int] = {}
    by_handle = handles(nodes)
    place = {id(node): number for number, node in enumerate(nodes)}
    fence = -1
    for number, node in enumerate(nodes):
        if fence >= 0:
            before[number].add(fence)
        for access in node.accesses:
            own = access.storage
            for storage in [other for other in accesses if lie_over(other, own)] if is_placed(own) else (own,):
                for earlier, other in accesses.get(storage, ()):
                    if (access.written or other.written) and _overlap(access, other):
                        before[number].add(earlier)
        for access in node.accesses:
            accesses.setdefault(access.storage, []).append((number, access))
        for state in (*node.states, "no_reorder") if node.in_order else node.states:
            if state in last:
                before[number].add(last[state])
            last[state] = number
        for producer in getattr(node.handle, "producers", ()):
            if id(producer) in by_handle:
                before[number].add(place[id(by_handle[id(producer)])])
        for producer in (one for name, after in schedule if name == node.label for one in after):
            before[number].update(earlier for earlier, other in enumerate(nodes) if other.label == producer)
        if node.name in MEETINGS:
            before[number].update(range(fence + 1, number))
            fence = number
        before[number].discard(number)
    return before


def _overlap(one: Access, other: Access) -> bool:
    if one.storage is not other.storage:  # placed by hand over each other: which elements are which nobody says
        return True
    if not np.may_share_memory(one.elements, other.elements):
        return False
    try:
        return bool(np.shares_memory(one.elements, other.elements, max_work=_OVERLAP_WORK))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _other(nodes: Sequence[Node], before: Sequence[set[int]], seed: int) -> list[Node]:
    """Another legal order of a core's instructions: seed 0 takes the last of those that may run, others any of them.

    Raises NkiValidationError where the dependencies go round in a circle.
    """
    chance = random.Random(seed)
    waiting = [len(needed) for needed in before]
    after: list[list[int]] = [[] for _ in nodes]
    for number, needed in enumerate(before):
        for earlier in needed:
            after[earlier].append(number)
    ready = [number for number, count in enumerate(waiting) if count == 0]
    order = []
    while ready:
        chosen = max(ready) if seed == 0 else chance.choice(ready)
        ready.remove(chosen)
        order.append(nodes[chosen])
        for number in after[chosen]:
            waiting[number] -= 1
            if waiting[number] == 0:
                ready.append(number)
    if len(order) < len(nodes):
        stuck = next(node for node, count in zip(nodes, waiting, strict=True) if count)
        raise NkiValidationError(
            f"{stuck} waits for itself: what it was made to run after (depends_on, with_schedule) itself depends on it"
        )
    return order


def _in_turn(cores: Sequence[Sequence[Node]], orders: Sequence[Sequence[Node]]) -> list[Item]:
    """One order of both cores' instructions: from meeting to meeting one core after the other."""
    if not all(cores):
        return [node for order in orders for node in order]
    merged: list[Item] = []
    places = [0, 0]
    while True:
        met = []
        for core, order in enumerate(orders):
            while places[core] < len(order) and order[places[core]].name not in MEETINGS:
                merged.append(order[places[core]])
                places[core] += 1
            if places[core] < len(order):
                met.append(order[places[core]])
                places[core] += 1
        if len(met) < len(orders):
            return merged
        merged.append((met[0], met[1]))


def _located(
    kernel: Kernel, program: Sequence[Item], order: Sequence[Item], differs: Callable[[Sequence[Item]], str | None]
) -> OrderError:
    """The error at the first two neighbours whose exchange, on the way from one order to the other, changes a result.

    On that way the other order's first items have come to the front, one by one, and the rest is in program order:
    every step is legal, because it exchanges only what the other order exchanges.
    """

    def forward(count: int) -> list[Item]:
        chosen = {id(item) for item in order[:count]}
        return [*order[:count], *(item for item in program if id(item) not in chosen)]

    right, wrong = 0, len(order)
    while wrong - right > 1:
        middle = (right + wrong) // 2
        right, wrong = (middle, wrong) if differs(forward(middle)) is None else (right, middle)
    base, moving = forward(right), order[wrong - 1]
    others = [item for item in base if item is not moving]

    def at(place: int) -> list[Item]:
        return [*others[:place], moving, *others[place:]]

    right, wrong = base.index(moving), wrong - 1
    while right - wrong > 1:
        middle = (right + wrong) // 2
        right, wrong = (middle, wrong) if differs(at(middle)) is None else (right, middle)
    return OrderError(kernel, _node(others[wrong]), _node(moving), str(differs(at(wrong))))


def _node(item: Item) -> Node:
    return item[0] if isinstance(item, tuple) else item


def _shared(first: Node, second: Node) -> str:
    """Which two tensors of theirs lie over the same memory, if that is so."""
    for one in first.accesses:
        for other in second.accesses:
            if one.storage is not other.storage and np.may_share_memory(one.elements, other.elements):
                names = f"{one.storage.name or one.storage.buffer!r} and {other.storage.name or other.storage.buffer!r}"
                return f"{names} lie over the same memory"
    return ""
