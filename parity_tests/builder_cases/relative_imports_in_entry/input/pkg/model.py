"""Models."""

import math


# The width of everything.
WIDTH = 8  # in units


def size():
    """How large."""
    return math.sqrt(WIDTH * 2)


def unused():
    return 1
