"""Imports in a `try` that succeed wherever the contest's Python runs: the program is what it is in the package.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/fast.py ====


def norm(x):
    return x * 2


# ==== pkg/train.py ====

try:
    train_norm = norm
except ImportError:
    train_norm = None

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
    print(train_norm(1), tomllib.loads("a = 1"), numpy.zeros(1), version(), torch.__name__)


if __name__ == "__main__":
    main()
