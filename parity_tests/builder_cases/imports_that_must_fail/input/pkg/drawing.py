"""Needs a package that the contest's machine lacks."""

from typing import Any

import rail_road

DRAWN: list[Any] = []


def draw(x):
    DRAWN.append(rail_road.draw(x))
