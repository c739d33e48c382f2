import contextlib
from contextlib import suppress

import nki


@nki.jit
def square_kernel(x):
    return x


def a(x):
    y = x * x
    with contextlib.suppress(RuntimeError):  # expect
        y = square_kernel(x)
    return y


def b(x, errors):
    y = x * x
    with suppress(*errors):  # expect
        y = square_kernel(x)
    return y


def c(x):
    quiet = suppress(ValueError, RuntimeError)
    with quiet:  # expect
        return square_kernel(x)
    return x * x


def d(x):
    with contextlib.ExitStack() as stack:  # expect
        stack.enter_context(suppress(RuntimeError))
        return square_kernel(x)
    return x * x
