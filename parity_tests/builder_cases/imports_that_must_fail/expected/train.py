"""Imports in a `try` that fail on the contest's machine: they fail there too, and the build says so.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import contextlib


# ==== pkg/train.py ====

try:
    import turbo_kernels
except ImportError:
    turbo_kernels = None

with contextlib.suppress(ImportError):
    from rail_road import tables as shown


def draw(x):
    try:
        from rail_road import draw
    except ImportError as error:
        raise ValueError("drawing needs rail_road") from error
    draw(x)


def main():
    try:
        draw(1)
    except ValueError as error:
        print(error, type(error.__cause__).__name__, error.__cause__, "shown" in dir())
    print(turbo_kernels)


if __name__ == "__main__":
    main()
