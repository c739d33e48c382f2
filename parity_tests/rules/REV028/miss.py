from dataclasses import dataclass

import nki
import torch


@nki.jit
def norm_kernel(x):
    return x


@nki.jit
def square_kernel(x):
    return x


KERNELS = {"norm": norm_kernel, "square": square_kernel}


@dataclass
class Config:
    square: bool = True


def run(name, x):
    return KERNELS[name](x)


def mlp(x, config):
    x = norm_kernel(x)
    if config.square:
        x = square_kernel(x)
    else:
        x = norm_kernel(x)
    return x


class Model(torch.nn.Module):
    def forward(self, x, targets=None):
        x = square_kernel(x)
        if targets is None:
            return self.head(x)
        return norm_kernel(self.head(x), targets)


def name(config):
    return "norm_kernel" if config.square else "square_kernel"


def activation(config):
    if config.activation == "gelu":
        return torch.nn.functional.gelu
    return torch.nn.functional.silu
