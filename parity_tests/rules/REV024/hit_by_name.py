"""Functions, methods and layers that are picked by a name or a place; a global that is given anew."""

import operator

import nki
import torch
from torch import nn
from torch_neuronx import wrap_nki


@nki.jit
def norm_kernel(x):
    return x


def fast(x):
    return wrap_nki(norm_kernel)[2](x)


def plain(x):
    return x / x.norm()


def by_name(x):
    return globals()["fast" if x.shape[0] % 128 == 0 else "plain"](x)  # expect


run = fast


def prepare(x):
    global run
    if x.shape[0] % 128:  # expect
        run = plain


class Fast(nn.Module):
    def forward(self, x):
        return fast(x)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.either = nn.ModuleList([nn.Linear(width, width), Fast()])
        self.named = nn.ModuleDict({"fast": Fast(), "plain": nn.Linear(width, width)})

    def quick(self, x):
        return fast(x)

    def slow(self, x):
        return plain(x)

    def forward(self, x):
        x = self.either[x.shape[0] % 128 == 0](x)  # expect
        x = self.named["fast" if x.dtype == torch.bfloat16 else "plain"](x)  # expect
        return operator.methodcaller("quick" if x.is_contiguous() else "slow", x)(self)  # expect
