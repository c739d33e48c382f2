import functools

import nki
import torch
from torch_neuronx import wrap_nki


@nki.jit
def norm_kernel(x):
    return x


@nki.jit
def wide_norm_kernel(x):
    return x


fast = functools.partial(wrap_nki(norm_kernel)[2], eps=1e-6)


def _ok(x):
    return x.shape[-1] % 128 == 0


def both(x):
    return fast(x) if _ok(x) else wide_norm_kernel(x)


def refuse(x):
    if _ok(x):
        return fast(x)
    raise ValueError(f"norm: {tuple(x.shape)}")


def matched(x):
    match x.dtype:
        case torch.bfloat16:
            return fast(x)
        case other:
            raise TypeError(f"norm: {other}")


def padded(x):
    rows = x.shape[0]
    if rows % 128:
        x = torch.nn.functional.pad(x, (0, 0, 0, 128 - rows % 128))
    return fast(x)[:rows]


class Optimizer(torch.optim.Optimizer):
    def step(self):
        for p in self.param_groups:
            if p.ndim == 2:
                p.add_(orthogonal(p))
            else:
                p.add_(p.grad)


def orthogonal(p):
    return p @ p.mT


class Model(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block() for _ in range(layers))

    def forward(self, x, targets):
        for index, block in enumerate(self.blocks):
            x = block(x)
            if index == 2:
                x = x + 1
        if x.size(1) != targets.size(1):
            x = x[:, : targets.size(1)]
        return x


class Block(torch.nn.Module):
    def forward(self, x):
        return fast(x)
