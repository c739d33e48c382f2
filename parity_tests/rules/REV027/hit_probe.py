import torch

try:
    import nki
except ImportError:
    nki = None

if nki is not None:  # expect

    @nki.jit
    def norm_kernel(x):
        return x
else:

    def norm_kernel(x):
        return x / x.norm()


@nki.jit
def square_kernel(x):
    return x


def probe():
    try:
        square_kernel(torch.zeros(1))
        return True
    except RuntimeError:
        return False


WORKS = probe()


def square(x):
    if WORKS:  # expect
        return square_kernel(x)
    return x * x


def other(x):
    ok = True
    try:
        y = square_kernel(x)
    except RuntimeError:
        ok = False
    if not ok:  # expect
        y = x * x
    return y
