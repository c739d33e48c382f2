TWO = 2


def go(x):
    from .late import work, THREE as three
    from math import sqrt

    return work(x) + three + int(sqrt(4))


def only_import():
    from . import late


def dead():
    from .never import nothing

    return nothing
