"""Classes of several kinds."""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol


class Plain: pass


class Documented:
    """Has a docstring."""


class Told:
    """Has a docstring."""  # and a comment

    # of the method
    @property
    def name(self) -> str:
        class Inner(Plain):
            size: int = 3

        return describe(Inner())


class Colour(Enum):
    RED = 1


@dataclass(slots=True)
class Point:
    x: int = 0

    class Kind(Exception): """Has a docstring."""; level = 2


class Pair(NamedTuple):
    first: int
    second: int = 2


class Named(Protocol):
    def name(self) -> str: ...


def describe(value: object) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def explain(value: object) -> str:
    return f"{type(value).__module__} {isinstance(value, (type, str))} {'docstring' in (type(value).__doc__ or '')}"
