import warnings

with warnings.catch_warnings():
    import math


def root(x):
    return math.sqrt(x)
