"""The condition hides in a loop over one thing or none, in a table that is made, in a name, in half of a question."""

import functools
import itertools
import operator

import nki
import torch
from torch_neuronx import wrap_nki


@nki.jit
def norm_kernel(x):
    return x


def fast(x):
    return wrap_nki(norm_kernel)[2](x)


def plain(x):
    return x / x.norm()


def counted(x):
    for _ in range(x.shape[0] % 128 == 0):  # expect
        return fast(x)
    return plain(x)


def counted_over(x):
    y = plain(x)
    fits = x.dtype == torch.bfloat16
    for _ in range(int(fits)):  # expect
        y = fast(x)
    return y


def repeated(x):
    y = plain(x)
    for _ in [x] * (x.shape[0] % 128 == 0):  # expect
        y = fast(x)
    return y


def sliced(x):
    for row in [x][: not x.shape[0] % 128]:  # expect
        return fast(row)
    return plain(x)


def kept(x):
    for row in filter(lambda t: t.shape[0] % 128 == 0, [x]):  # expect
        return fast(row)
    return plain(x)


def empty(x):
    for row in [x] if x.is_contiguous() else []:  # expect
        return fast(row)
    else:
        return plain(x)


def once(x):
    while x.shape[0] % 128 == 0:  # expect
        y = fast(x)
        break
    else:
        y = plain(x)
    return y


def in_a_context(x):
    if x.shape[0] % 128 == 0:  # expect
        with torch.no_grad():
            return fast(x)
    return plain(x)


def half(x):
    if x.shape[0] % 128 == 0 and (y := fast(x)) is not None:  # expect
        return y
    return plain(x)


def guarded(x):
    match x:
        case rows if rows.shape[0] % 128 == 0:  # expect
            return fast(rows)
    return plain(x)


ZIPPED = dict(zip((True, False), (fast, plain), strict=True))
NAMED = dict(fast=fast, plain=plain)  # noqa: C408
NUMBERED = dict(enumerate([plain, fast]))
COMPREHENDED = {fits: run for fits, run in ((True, fast), (False, plain))}


def zipped(x):
    return ZIPPED[x.shape[0] % 128 == 0](x)  # expect


def named(x):
    return NAMED["fast" if x.shape[0] % 128 == 0 else "plain"](x)  # expect


def numbered(x):
    return NUMBERED[int(x.shape[0] % 128 == 0)](x)  # expect


def comprehended(x):
    return COMPREHENDED[x.shape[0] % 128 == 0](x)  # expect


def in_turn(x):
    for fits, run in zip((x.shape[0] % 128 == 0, True), (fast, plain), strict=True):
        if fits and x.shape[0]:  # expect
            return run(x)


def by_place(x):
    for place, run in enumerate((fast, plain)):
        if place == (x.shape[0] % 128 != 0):  # expect
            return run(x)


def taken(x):
    return [plain, fast].pop(x.shape[0] % 128 == 0)(x)  # expect


def got(x):
    return operator.getitem([plain, fast], x.shape[0] % 128 == 0)(x)  # expect


def getter(x):
    return operator.itemgetter(x.shape[0] % 128 == 0)([plain, fast])(x)  # expect


def best(x):
    return max((fast, plain), key=lambda run: (run is fast) == (x.shape[0] % 128 == 0))(x)  # expect


def compressed(x):
    return next(itertools.compress((fast, plain), (x.shape[0] % 128 == 0, True)))(x)  # expect


class Norm(torch.nn.Module):
    def _fast(self, x, eps):
        return fast(x) + eps

    def _plain(self, x, eps):
        return x / x.norm() + eps

    quick = functools.partialmethod(_fast, eps=0.0)
    slow = functools.partialmethod(_plain, eps=0.0)
    same = _fast

    def forward(self, x):
        if x.shape[0] % 128 == 0:  # expect
            return self.quick(x)
        return self.slow(x)

    def second(self, x):
        return self.same(x, 0.0) if x.shape[0] % 128 == 0 else self.slow(x)  # expect

    def third(self, x):
        return getattr(self, "_fast" if x.shape[0] % 128 == 0 else "_plain")(x, 0.0)  # expect
