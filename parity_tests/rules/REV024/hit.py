import nki
import torch
from torch_neuronx import wrap_nki


@nki.jit
def norm_kernel(x):
    if x.shape[0] > 128:
        return x
    return x


class NormFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return wrap_nki(norm_kernel)[2](x)


class Norm(torch.nn.Module):
    def forward(self, x):
        if x.size(0) % 128 == 0:  # expect
            return NormFunction.apply(x)
        return x / x.norm()


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fast = Norm()

    def forward(self, x):
        rows, width = x.shape
        aligned = rows % 128 == 0
        y = x / x.norm()
        if aligned:  # expect
            y = self.fast(x)
        return y


def direct(x):
    rows = x.shape[0]
    if rows % 128:  # expect
        y = x / x.norm()
    else:
        y = NormFunction.apply(x)
    return y


def late(x):
    y = x / x.norm()
    if x.dtype == torch.bfloat16:  # expect
        y = NormFunction.apply(x)
    return y


def inline(x):
    return NormFunction.apply(x) if x.dtype == torch.bfloat16 else x.float().norm()  # expect
