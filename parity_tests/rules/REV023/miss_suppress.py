import contextlib
from contextlib import suppress

import nki


@nki.jit
def square_kernel(x):
    return x


def a(x):
    with suppress(FileNotFoundError):
        open("steps.txt").close()
    with contextlib.nullcontext():
        return square_kernel(x)


def b(x):
    try:
        return square_kernel(x)
    finally:
        for word in ("a", "b"):
            if word == "a":
                continue
            print(word)


def c(x):
    try:
        return int(x)
    finally:
        return square_kernel(x)
