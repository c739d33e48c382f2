import math

BASE = (2, math.floor(3.5))


def scale(x):
    return 2 * x


def width():
    from .shapes import KINDS, WIDTH

    return WIDTH, KINDS["plain"](2)
