"""Imports for type checkers alone stay what they are; a name of theirs that the machine lacks is never looked up."""

from . import a, b


def main():
    print(a.T(a.Norm()).scaled(1, 2).__class__.__name__, a.Norm.scaled.__annotations__["return"], b.T.__annotations__)


if __name__ == "__main__":
    main()
