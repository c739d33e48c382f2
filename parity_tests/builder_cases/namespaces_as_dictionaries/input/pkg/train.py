import sys

from .model import build

STEPS: int = 3
print(sorted(locals()), dir(), vars()["STEPS"], __annotations__)


def main():
    print(globals()["STEPS"], build.__globals__, sys._getframe(0).f_globals, sys._getframe(0).f_locals)
    print(build.__code__.co_varnames, getattr(build, "__globals__"))


if __name__ == "__main__":
    main()
