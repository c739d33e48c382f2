"""The flame picture: boxes below boxes, each as wide as its share of the update, drawn by the page's own style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from scorer.compare.accounts import in_time
from scorer.room.flames import PHASES, FlameRow, Frame

LEAST_SHARE = 0.002  # of the update: what is narrower is not drawn


@dataclass(frozen=True)
class Box:
    """One box; places in per cent of the width, `depth` in rows from the top."""

    phase: str
    label: str
    title: str  # shown where the pointer rests
    depth: int
    left: float
    width: float


@dataclass
class _Node:
    label: str
    what: str
    seconds: float = 0.0
    count: int = 0
    below: dict[str, _Node] = field(default_factory=dict)

    def at(self, label: str, what: str) -> _Node:
        return self.below.setdefault(label, _Node(label, what))


def boxes(frames: Sequence[Frame], rows: Sequence[FlameRow], places: Sequence[str]) -> list[Box]:
    """Phases on top, below them the program's lines as they call each other, the operators and kernels at the end.

    `places`: the recipe's line of each frame, or nothing. Lines that all stacks begin with are left out.
    """
    skip = _shared([row.stack for row in rows if row.stack])
    root = _Node("update", "")
    for row in rows:
        path: list[tuple[str, str]] = [(row.phase, "")]
        path += [(_line(frames[place]), places[place]) for place in row.stack[skip:]]
        path += [(name, "") for name in (row.operator, row.kernel.partition(" ")[0]) if name]
        node = root
        node.seconds += row.seconds
        for label, what in path:
            node = node.at(label, what)
            node.seconds += row.seconds
        node.count += row.count
    found: list[Box] = []
    left = 0.0
    for phase in PHASES:
        if (top := root.below.get(phase)) is not None:
            _draw(found, top, phase, 0, left, root.seconds)
            left += 100 * top.seconds / root.seconds
    return found


def _draw(found: list[Box], node: _Node, phase: str, depth: int, left: float, whole: float) -> None:
    share = node.seconds / whole
    if share < LEAST_SHARE:
        return
    told = [node.label, node.what, in_time(1e6 * node.seconds), f"{100 * share:.1f} %"]
    told += [f"{node.count:,} calls"] if node.count > 1 else []
    found.append(Box(phase, node.label, " · ".join(word for word in told if word), depth, left, 100 * share))
    for below in sorted(node.below.values(), key=lambda each: (-each.seconds, each.label)):
        _draw(found, below, phase, depth + 1, left, whole)
        left += 100 * below.seconds / whole


def _line(frame: Frame) -> str:
    return f"{frame.function}:{frame.line}"


def _shared(stacks: Sequence[Sequence[int]]) -> int:
    """How many frames all stacks begin with; of the shortest one its last frame stays."""
    count = 0
    while stacks and all(len(stack) > count + 1 and stack[count] == stacks[0][count] for stack in stacks):
        count += 1
    return count
