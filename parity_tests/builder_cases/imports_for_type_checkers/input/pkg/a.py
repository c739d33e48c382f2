from __future__ import annotations

import typing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .b import Thing, Other

if typing.TYPE_CHECKING:
    import unknown_package


def work(thing: Thing) -> Iterator[int]:
    other: Other = thing
    return iter([other])


def unused(x: unknown_package.Y):
    return x
