"""Helpers that give None for what was not asked, and raise for what they cannot do."""

import nki
import torch
from torch_neuronx import wrap_nki


@nki.jit
def norm_kernel(x):
    return x


def fast(x):
    return wrap_nki(norm_kernel)[2](x)


def loss(x, targets):
    if targets is None:
        return None
    return fast(x - targets)


def total(x, targets):
    found = loss(x, targets)
    if found is None:
        return x * 0
    return found


def strict(x):
    if x.shape[0] % 128:
        raise ValueError("rows")
    return fast(x)


def masked(x):
    y = strict(x)
    return torch.where(y > 0, y, x / 2)


def shown(x):
    y = cached(x)
    if y is None:
        print("nothing yet", x.shape)
    return y


def cached(x):
    if x.shape[0] == 0:
        return None
    return fast(x)
