from dataclasses import dataclass

import nki
import torch
from torch_neuronx import wrap_nki


@nki.jit
def norm_kernel(x):
    return x


@nki.jit
def square_kernel(x):
    return x


def reference(x):
    return x / x.norm()


USE_KERNEL = True
IMPLEMENTATIONS = {"nki": norm_kernel, "torch": reference}


@dataclass
class Config:
    implementation: str = "nki"


class Norm(torch.nn.Module):
    def __init__(self, config, fast):
        super().__init__()
        self.fast = fast
        self.run = IMPLEMENTATIONS[config.implementation]  # expect

    def forward(self, x):
        if self.fast:  # expect
            return wrap_nki(norm_kernel)[2](x)
        return reference(x)


def norm(x):
    return norm_kernel(x) if USE_KERNEL else reference(x)  # expect


def pick(name):
    match name:  # expect
        case "nki":
            return norm_kernel
        case _:
            return reference


def build(config):
    return IMPLEMENTATIONS.get(config.implementation, reference)  # expect


def two(x, config):
    kernels = (reference, norm_kernel)
    return kernels[config.fast](x)  # expect
