from . import b


def even(n):
    return True if n == 0 else b.odd(n - 1)
