"""Imports in a `try` that succeed wherever the contest's Python runs: the program is what it is in the package."""

try:
    from .fast import norm
except ImportError:
    norm = None

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

try:
    import numpy
except ImportError as error:
    raise SystemExit("this recipe needs numpy") from error


def version():
    try:
        import ctypes
    except ImportError:
        return None
    return ctypes.sizeof(ctypes.c_int)


def main():
    try:
        import torch
    except ValueError:
        print("no failing import comes here")
    print(norm(1), tomllib.loads("a = 1"), numpy.zeros(1), version(), torch.__name__)


if __name__ == "__main__":
    main()
