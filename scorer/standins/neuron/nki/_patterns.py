"""Shapes and access patterns as plain numbers: what an index expression, a reshape or an explicit pattern means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ._errors import refuse


def spread(items: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Replaces `...` by full slices."""
    holes = [position for position, item in enumerate(items) if item is Ellipsis]
    if len(holes) > 1 or len(items) - len(holes) > len(shape):
        refuse(f"{len(items)} indices for the {len(shape)} dimensions of {shape}")
    hole = holes[0]
    missing = len(shape) - len(items) + 1
    return (*items[:hole], *[slice(None)] * missing, *items[hole + 1 :])


def fill(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """`shape` with its one -1 replaced, checked against the number of elements."""
    known = math.prod(item for item in shape if item != -1)
    if shape.count(-1) == 1 and known > 0 and size % known == 0:
        shape = tuple(size // known if item == -1 else item for item in shape)
    if not shape or min(shape) < 1 or math.prod(shape) != size:
        refuse(f"{size} elements do not fill {shape}", "shape")
    return shape


def overlaps(steps: list[int], counts: list[int]) -> bool:
    """Whether two indices of the pattern may name one element (sufficient check: sorted dimensions nest)."""
    end = 0
    for step, count in sorted(zip(steps, counts, strict=True)):
        if count > 1:
            if step <= end:
                return True
            end += step * (count - 1)
    return False


def reach(steps: Sequence[int], counts: Sequence[int]) -> int:
    """Distance from the first to the last element of a pattern."""
    return sum(step * (count - 1) for step, count in zip(steps, counts, strict=True))


def pairs(pattern: Any) -> list[list[int]]:
    """The pattern, for messages."""
    return [list(pair) for pair in pattern]
