"""Integers that only the running kernel knows."""

from __future__ import annotations


class RuntimeScalar:
    """A register, or a scalar that an instruction loaded: usable as an address, never in Python's control flow.

    Attribute: `number`, what it holds when an instruction uses it.
    """

    __slots__ = ("number",)

    def __init__(self, number: int = 0) -> None:
        self.number = number


class RuntimeSlice:
    """`size` positions from a run-time one on, made by `nl.ds`."""

    __slots__ = ("size", "start")

    def __init__(self, start: RuntimeScalar, size: int) -> None:
        self.start = start
        self.size = size
