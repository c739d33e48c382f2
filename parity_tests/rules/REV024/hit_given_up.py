"""A helper that gives up by None, a result that is looked at afterwards, tables with something for whatever is missing."""

import collections

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


def attempt(x):
    if x.shape[0] % 128:  # expect
        return None
    return fast(x)


def first(x):
    y = attempt(x)
    if y is None:
        y = plain(x)
    return y


def attempt_once(x):
    return fast(x) if x.dtype == torch.bfloat16 else None  # expect


def second(x):
    y = attempt_once(x)
    return plain(x) if y is None else y


def attempt_quietly(x):
    if x.is_contiguous():  # expect
        return
    return fast(x)


def third(x):
    if (y := attempt_quietly(x)) is not None:
        return y
    return plain(x)


def finite(x):
    y = fast(x)
    return torch.where(torch.isfinite(y), y, plain(x))  # expect


def by_decorator(slow):
    def wrap(run):
        def inner(x):
            return run(x) if x.shape[0] % 128 == 0 else slow(x)  # expect

        return inner

    return wrap


@by_decorator(plain)
def decorated(x):
    return fast(x)


CHAIN = collections.ChainMap({128: fast}, {256: plain})
MISSING = collections.defaultdict(lambda: plain, {128: fast})


def chained(x):
    return CHAIN[x.shape[0]](x)  # expect


def missing(x):
    return MISSING[x.shape[0]](x)  # expect
