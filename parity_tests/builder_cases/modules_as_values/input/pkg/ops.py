"""Operations, asked for by their names."""

from math import floor as down

LIMIT = 3


def norm(x: float) -> float:
    return min(x, LIMIT)


def scale(x: float) -> float:
    return down(x * 2.5)
