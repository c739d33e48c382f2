"""Imports in a `try` that fail on the contest's machine: they fail there too, and the build says so."""

import contextlib

try:
    import turbo_kernels
except ImportError:
    turbo_kernels = None

with contextlib.suppress(ImportError):
    from . import tables as shown


def draw(x):
    try:
        from .drawing import draw
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
