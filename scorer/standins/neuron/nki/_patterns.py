"""Shapes and access patterns as plain numbers: what an index expression, a reshape or an explicit pattern means."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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


def by_name(
    src_pattern: Sequence[Any], dst_pattern: Sequence[Any], sizes: Mapping[str, int], shape: tuple[int, ...]
) -> tuple[tuple[int, ...], list[int], tuple[int, ...]]:
    """What `rearrange` does: the shape after splitting, the order of those dimensions, the shape after merging."""
    if len(src_pattern) != len(shape):
        refuse(f"{len(src_pattern)} names for the {len(shape)} dimensions of {shape}", "src_pattern")
    split: list[int] = []
    names: list[str] = []
    for group, size in zip(map(_members, src_pattern), shape, strict=True):
        split.extend(fill(tuple(sizes.get(name, -1) for name in group), size))
        names.extend(group)
    groups = [_members(group) for group in dst_pattern]
    wanted = [name for group in groups for name in group]
    if len(set(names)) != len(names) or sorted(wanted) != sorted(names):
        refuse(f"names {names} of src_pattern and {wanted} of it must be the same, each once", "dst_pattern")
    bounds = dict(zip(names, split, strict=True))
    merged = tuple(math.prod(bounds[name] for name in group) for group in groups)
    return tuple(split), [names.index(name) for name in wanted], merged


def _members(group: Any) -> tuple[str, ...]:
    return (group,) if isinstance(group, str) else tuple(group)


def overlaps(steps: list[int], counts: list[int]) -> bool:
    """Whether two indices of the pattern may name one element (sufficient check: sorted dimensions nest)."""
    end = 0
    for step, count in sorted(zip(map(abs, steps), counts, strict=True)):
        if count > 1:
            if step <= end:
                return True
            end += step * (count - 1)
    return False


def reach(steps: Sequence[int], counts: Sequence[int]) -> tuple[int, int]:
    """How far before and behind the element at index 0 a pattern goes: (0 or less, 0 or more)."""
    ends = [step * (count - 1) for step, count in zip(steps, counts, strict=True)]
    return sum(end for end in ends if end < 0), sum(end for end in ends if end > 0)


def pairs(pattern: Any) -> list[list[int]]:
    """The pattern, for messages."""
    return [list(pair) for pair in pattern]
