"""The first of two modules with the same names."""

from dataclasses import dataclass

from .registry import register

Norm = "a variable gives way"


@dataclass
class Point:
    x: int = 1


class Token:
    def parent(self):
        return Token, type(self).__name__


@register
def step(x):
    return x + 1


def handed_on(x):
    return x


def only_called(x):
    return x - 1


class range:  # a builtin's name, which b.py needs
    def __repr__(self):
        return f"<{type(self).__name__}>"


def use():
    return only_called(1), Norm, range()
