"""The module of a value's class, asked for at run time.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol


# ==== pkg/shapes.py ====
# Classes of several kinds.


class Plain: __module__ = "pkg.shapes"; pass


class Documented:
    """Has a docstring."""
    __module__ = "pkg.shapes"


class Told:
    """Has a docstring."""
    __module__ = "pkg.shapes"  # and a comment

    # of the method
    @property
    def name(self) -> str:
        class Inner(Plain):
            __module__ = "pkg.shapes"
            size: int = 3

        return describe(Inner())


class Colour(Enum):
    __module__ = "pkg.shapes"
    RED = 1


@dataclass(slots=True)
class Point:
    __module__ = "pkg.shapes"
    x: int = 0

    class Kind(Exception): """Has a docstring."""; __module__ = "pkg.shapes"; level = 2


class Pair(NamedTuple):
    __module__ = "pkg.shapes"
    first: int
    second: int = 2


class Named(Protocol):
    __module__ = "pkg.shapes"
    def name(self) -> str: ...


def describe(value: object) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def explain(value: object) -> str:
    return f"{type(value).__module__} {isinstance(value, (type, str))} {'docstring' in (type(value).__doc__ or '')}"


# ==== pkg/train.py ====


class Own(Named):
    def name(self) -> str:
        return "own"


def main() -> None:
    for value in (Plain(), Documented(), Told(), Colour.RED, Point(), Pair(1), Point.Kind(), "text", 3):
        print(describe(value), explain(value))
    print(Told().name, [colour.name for colour in Colour], Pair(1), Point(2), Own().name(), type(Named).__module__)


if __name__ == "__main__":
    main()
