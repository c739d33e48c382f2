import sys


def a(x):
    try:
        return kernel(x)
    except Exception:  # expect
        sys.exit(0)


def b(x, exit):
    try:
        return kernel(x)
    except Exception:  # expect
        exit(1)


def c(x):
    try:
        return kernel(x)
    except Exception:  # expect
        sys.exit(1) if x else None
