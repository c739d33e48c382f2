"""Loops over the tiles of a tensor, tables of kernels only, questions that choose no implementation."""

import functools

import nki
import torch
from torch_neuronx import wrap_nki


@nki.jit
def norm_kernel(x):
    return x


@nki.jit
def scale_kernel(x):
    return x


def fast(x):
    return wrap_nki(norm_kernel)[2](x)


def scaled(x):
    return wrap_nki(scale_kernel)[2](x)


def tiles(x):
    found = []
    for row in range(x.shape[0] // 128):
        found.append(fast(x[row]))
    return torch.cat(found) * 2


def several(x, layers):
    y = x * 2
    for _ in range(len(layers)):
        y = fast(y)
    return y


def copies(x):
    y = x / 2
    for part in [x] * 4:
        y = y + fast(part)
    return y


def training(x, steps):
    while steps:
        x = fast(x)
        steps -= 1
    return x / 2


BOTH = dict(zip((True, False), (fast, scaled), strict=True))


def of_kernels(x):
    return BOTH[x.shape[0] % 128 == 0](x)


def names(x):
    for name, run in zip(("norm", "scale"), (fast, scaled), strict=True):
        if x.shape[0] > 4:
            print(name)
        x = run(x)
    return x


def refuses(x):
    for _ in range(x.shape[0] % 128 == 0):
        return fast(x)
    raise ValueError(f"{x.shape} has rows that fill no tile")


class Norm(torch.nn.Module):
    def _fast(self, x, eps):
        return fast(x) + eps

    quick = functools.partialmethod(_fast, eps=0.0)
    other = functools.partialmethod(_fast, eps=1.0)

    def forward(self, x):
        if x.shape[0] % 2 == 0:
            return self.quick(x)
        return self.other(x)

    def part(self, x, name):
        return getattr(self, name)(x)
