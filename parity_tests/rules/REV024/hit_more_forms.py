import warnings

import nki
import torch
from torch_neuronx import wrap_nki


@nki.jit
def norm_kernel(x):
    return x


def reference(x):
    return x / x.norm()


def fits(x):
    return x.shape[0] % 128 == 0


class NkiNorm(torch.nn.Module):
    def forward(self, x):
        return wrap_nki(norm_kernel)[2](x)


class TorchNorm(torch.nn.Module):
    def forward(self, x):
        return reference(x)


class Layer(torch.nn.Module):
    def __init__(self, width, kernel_size):
        super().__init__()
        Norm = NkiNorm if width % 128 == 0 else TorchNorm  # expect
        self.norm = Norm()
        if width <= 8192:  # expect
            self.other = NkiNorm()
        else:
            self.other = TorchNorm()
        self.slow = kernel_size != 2

    @property
    def run(self):
        return reference if self.slow else norm_kernel  # expect

    def forward(self, x):
        if not self.slow:  # expect
            return norm_kernel(x)
        return reference(x) + self.norm.eps


def warned(x):
    if not fits(x):  # expect
        warnings.warn("the slow path")
        return reference(x)
    return norm_kernel(x)


def inside_torch(x):
    return torch.cond(x.shape[0] > 128, norm_kernel, reference, (x,))  # expect


def in_brackets(x):
    run = next(run for run in (norm_kernel, reference) if run is reference or fits(x))  # expect
    return run(x)


def handed_on(apply, x):
    return apply(norm_kernel if x.dtype == torch.bfloat16 else reference, x)  # expect


def filled(x):
    table = {}
    table[True] = norm_kernel
    table[False] = reference
    return table[fits(x)](x)  # expect


def by_loop(x):
    while x.numel() > 4096:  # expect
        return norm_kernel(x)
    return reference(x)


def both_conditions(x, config):
    if config.fast and x.is_contiguous():  # expect
        return norm_kernel(x)
    return reference(x)
