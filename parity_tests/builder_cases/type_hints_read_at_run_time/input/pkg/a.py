from __future__ import annotations

from .c import Shape


def build(shape: Shape) -> Shape:
    return shape
