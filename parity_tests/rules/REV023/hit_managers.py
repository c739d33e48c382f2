import contextlib
import functools
from contextlib import contextmanager

import nki
import torch


@nki.jit
def square_kernel(x):
    return x


@contextmanager
def quiet():
    try:
        yield
    except RuntimeError as error:
        print(error)


@contextlib.contextmanager
def quieter():
    with contextlib.suppress(ValueError):
        yield


class Quiet:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return kind is not None


class Silent(contextlib.suppress):
    pass


class Trainer:
    def __init__(self):
        self.guard = Quiet()

    def step(self, x):
        with self.guard:  # expect
            return square_kernel(x)
        return x * x


def guard():
    return Quiet()


def a(x):
    y = x * x
    with quiet():  # expect
        y = square_kernel(x)
    return y


def b(x):
    y = x * x
    with quieter(), torch.no_grad():  # expect
        y = square_kernel(x)
    return y


def c(x):
    with Quiet():  # expect
        return square_kernel(x)
    return x * x


def d(x):
    with Silent(RuntimeError):  # expect
        return square_kernel(x)
    return x * x


def e(x):
    with guard():  # expect
        return square_kernel(x)
    return x * x


def f(x):
    with contextlib.ExitStack() as stack:  # expect
        stack.push(lambda *error: True)
        return square_kernel(x)
    return x * x


@quiet()  # expect
def g(x):
    return square_kernel(x)


def h(x):
    with contextlib.ExitStack() as stack:  # expect
        stack.enter_context(quiet())
        return square_kernel(x)
    return x * x
