import pkg.kernels as kernels
from . import kernels as again


def fast(x):
    return kernels.slow(x)


def slow(x):
    return x
