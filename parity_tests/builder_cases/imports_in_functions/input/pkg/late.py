"""Late."""

from .early import TWO

THREE = TWO + 1


def work(x):
    return x * THREE
