import functools

import torch
from torch import nn

CACHE = {}
COUNT = 0


class A(nn.Module):
    def forward(self, x):
        global COUNT
        self.calls += 1  # expect
        self.last = x  # expect
        self.seen.add_(x.sum())  # expect
        self.table[0] = x  # expect
        self.history.append(x)  # expect
        CACHE[x.data_ptr()] = x  # expect
        COUNT = COUNT + 1  # expect
        return self.helper(x)

    @functools.lru_cache  # expect
    def helper(self, x):
        self.weight.data.mul_(0.9)  # expect
        return x
