import functools

import nki
import torch
from torch_neuronx import wrap_nki


@nki.jit
def norm_kernel(x):
    return x


fast = functools.partial(wrap_nki(norm_kernel)[2], eps=1e-6)


def reference(x):
    return x / x.norm()


def _ok(x):
    return x.shape[-1] % 128 == 0


class Conv(torch.nn.Module):
    def __init__(self, kernel_size):
        super().__init__()
        self.kernel_size = kernel_size
        self.fits = kernel_size % 2 == 0
        self.run = fast if kernel_size == 2 else reference  # expect

    @property
    def small(self):
        return self.weight.numel() < 4096

    def _fits(self, x):
        if x.ndim != 2:
            return False
        return True

    def forward(self, x):
        if self.kernel_size == 2:  # expect
            return fast(x)
        return reference(x)

    def second(self, x):
        if not self.fits:  # expect
            return reference(x)
        return fast(x)

    def third(self, x):
        return reference(x) if self.small else fast(x)  # expect

    def fourth(self, x):
        while self._fits(x):  # expect
            return fast(x)
        return reference(x)

    def fifth(self, x):
        if getattr(self, "fits"):  # expect
            return fast(x)
        return reference(x)


def helper(x):
    if _ok(x):  # expect
        return fast(x)
    else:
        return reference(x)


def chain(x):
    return _ok(x) and fast(x) or reference(x)  # expect


def table(x):
    return {True: fast, False: reference}[x.dtype == torch.bfloat16](x)  # expect


def pair(x):
    return (reference, fast)[_ok(x)](x)  # expect


BY_TYPE = {torch.bfloat16: fast}


def by_type(x):
    return BY_TYPE.get(x.dtype, reference)(x)  # expect


def matched(x):
    match x.dtype:  # expect
        case torch.bfloat16:
            return fast(x)
        case torch.float32:
            return reference(x)


def matched_shape(x):
    match tuple(x.shape):  # expect
        case (_, 128):
            y = fast(x)
        case _:
            y = reference(x)
    return y


def loop(x):
    for run in (fast, reference):
        if run is reference or _ok(x):  # expect
            return run(x)


def checked(x):
    y = fast(x)
    if not torch.isfinite(y).all():  # expect
        y = reference(x)
    return y


def flag(x):
    use = False
    if x.size(0) > 128:
        use = True
    return fast(x) if use else reference(x)  # expect


def walrus(x):
    if (rows := x.shape[0]) and rows % 128 == 0:  # expect
        return fast(x)
    return reference(x)


def argument(x, fits):
    if fits:  # expect
        return fast(x)
    return reference(x)


def caller(x):
    return argument(x, x.size(1) <= 512)


def nested(x):
    def run(y):
        return fast(y)

    if x.shape[1] > 64:  # expect
        return run(x)
    return reference(x)


def lambdas(x):
    run = (lambda y: fast(y)) if _ok(x) else (lambda y: y / y.norm())  # expect
    return run(x)
