import functools
import warnings
from concurrent.futures import ThreadPoolExecutor

import nki
import torch
from torch_neuronx import wrap_nki


@nki.jit
def square_kernel(x):
    return x


def reference(x):
    return x * x


fast = functools.partial(wrap_nki(square_kernel)[2])


def safe(function):
    @functools.wraps(function)
    def inner(*arguments):
        try:
            return function(*arguments)
        except RuntimeError:  # expect
            return reference(*arguments)

    return inner


@safe
def a(x):
    return square_kernel(x)


def instead(other):
    def wrap(wrapped):
        def inner(x):
            try:
                return wrapped(x)
            except ValueError:  # expect
                return other(x)

        return inner

    return wrap


@instead(reference)
def b(x):
    return square_kernel(x)


def attempt(first, second, x):
    try:
        return first(x)
    except (TypeError, RuntimeError):  # expect
        warnings.warn("the kernel failed")
    return second(x)


def c(x):
    return attempt(square_kernel, reference, x)


def retry(run, times=3):
    for _ in range(times):
        try:
            return run()
        except RuntimeError:  # expect
            continue
    return None


def d(x):
    return retry(lambda: square_kernel(x))


def e(x):
    for run in (fast, reference):
        try:
            return run(x)
        except RuntimeError:  # expect
            pass


IMPLEMENTATIONS = {"nki": fast, "torch": reference}


def f(x):
    for name, run in IMPLEMENTATIONS.items():
        try:
            return run(x)
        except NotImplementedError:  # expect
            print(name, "failed")


def g(x, *candidates):
    for candidate in candidates:
        try:
            return candidate(x)
        except RuntimeError:  # expect
            pass


def h(x):
    return g(x, square_kernel, reference)


class Square(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = fast
        self.kernels = {"square": fast}

    def forward(self, x):
        try:
            return self.kernel(x)
        except RuntimeError as error:  # expect
            return self.recover(x, error)

    def recover(self, x, error):
        return x * x

    def second(self, x):
        try:
            return self.kernels["square"](x)
        except RuntimeError:  # expect
            return x * x


def train(x):
    model = torch.compile(Square())
    try:
        return model(x)
    except RuntimeError:  # expect
        return x.square()


def later(x):
    with ThreadPoolExecutor() as pool:
        future = pool.submit(square_kernel, x)
        try:
            return future.result()
        except RuntimeError:  # expect
            return x * x


def named(x):
    run = getattr(Square(), "kernel")
    try:
        return run(x)
    except AttributeError:  # expect
        return x * x
