"""A program that shows the names of what it is made of."""

from . import a, b
from .registry import NAMES


def shown(function):
    return function.__name__, function(2)


def main():
    print(NAMES, a.Point(), b.Point(), b.Norm.__name__)
    print(a.Token().parent()[1], a.Token().parent()[0] is a.Token, repr(b.Token("x")))
    print(shown(a.handed_on), shown(b.handed_on), a.step(0), b.step(0), a.use(), b.use())


if __name__ == "__main__":
    main()
