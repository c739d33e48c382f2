import contextlib
from contextlib import suppress

import nki


@nki.jit
def square_kernel(x):
    return x


def a(x):
    y = x * x
    try:
        y = square_kernel(x)
    finally:
        return y  # expect


def b(x):
    y = x * x
    for _ in range(1):
        try:
            y = square_kernel(x)
        finally:
            if y is not None:
                break  # expect
    return y


def c(x):
    y = x * x
    while True:
        try:
            y = square_kernel(x)
        finally:
            for _ in range(2):
                break
            else:
                continue  # expect
    return y
