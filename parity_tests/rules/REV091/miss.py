import torch
from torch import nn


class A(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(1))
        self.calls = 0

    def forward(self, x):
        skips = []
        y = x * self.gain
        y.add_(1)
        y[:, 0] = 0
        skips.append(y)
        total = {}
        total["y"] = y
        return y + self.helper(y)

    def helper(self, y):
        y = y.clone()
        y.mul_(2)
        return y

    def reset(self):
        self.calls = 0


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.rows = x
        return x * x
