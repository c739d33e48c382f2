"""A program that shows the names of what it is made of.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

from dataclasses import dataclass


# ==== pkg/registry.py ====
# Enters functions by their names.

NAMES = []


def register(function):
    NAMES.append((function.__name__, function(1)))
    return function


# ==== pkg/a.py ====
# The first of two modules with the same names.

a_Norm = "a variable gives way"


@dataclass
class Point:
    x: int = 1


a_Point = Point  # another `Point` is used too


class Token:
    def parent(self):
        return a_Token, type(self).__name__


a_Token = Token  # another `Token` is used too


@register
def step(x):
    return x + 1


a_step = step  # another `step` is used too


def handed_on(x):
    return x


a_handed_on = handed_on  # another `handed_on` is used too


def only_called(x):
    return x - 1


class range:  # a builtin's name, which b.py needs
    def __repr__(self):
        return f"<{type(self).__name__}>"


a_range = range  # another `range` is used too
del range


def use():
    return only_called(1), a_Norm, a_range()


# ==== pkg/b.py ====
# The second.


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


def b_only_called(x):
    return x - 2


def b_use():
    return b_only_called(1), list(range(3))


# ==== pkg/train.py ====


def shown(function):
    return function.__name__, function(2)


def main():
    print(NAMES, a_Point(), Point(), Norm.__name__)
    print(a_Token().parent()[1], a_Token().parent()[0] is a_Token, repr(Token("x")))
    print(shown(a_handed_on), shown(handed_on), a_step(0), step(0), use(), b_use())


if __name__ == "__main__":
    main()
