import sys

kernels = sys.modules[__name__]


def fast(x):
    return kernels.slow(x)


def slow(x):
    return x
