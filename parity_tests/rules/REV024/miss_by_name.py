"""Layers in turn, of which some use a kernel; a global that is set once."""

import nki
from torch import nn
from torch_neuronx import wrap_nki


@nki.jit
def norm_kernel(x):
    return x


class Fast(nn.Module):
    def forward(self, x):
        return wrap_nki(norm_kernel)[2](x)


STEP = 0


def count(x):
    global STEP
    if x.shape[0] > 1:
        STEP = x.shape[0]


class Stack(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width), Fast()])
        self.named = nn.ModuleDict({"norm": Fast(), "head": nn.Linear(width, width)})

    def forward(self, x):
        for i in range(2):
            x = self.layers[i](x)
        for name in ("norm", "head"):
            x = self.named[name](x)
        return self.named["head"](x)
