"""The second."""

from dataclasses import dataclass

from .registry import register


class Norm:
    pass


@dataclass
class Point:
    y: int = 2


class Token(Exception):
    pass


@register
def step(x):
    return x + 2


def handed_on(x):
    return -x


def only_called(x):
    return x - 2


def use():
    return only_called(1), list(range(3))
