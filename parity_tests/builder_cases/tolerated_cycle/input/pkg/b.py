from . import a


def odd(n):
    return False if n == 0 else a.even(n - 1)
