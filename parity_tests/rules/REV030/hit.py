import torch
from torch import nn


class A(nn.Module):
    def forward(self, x):
        if self.training:  # expect
            x = x + 1
        if x.ndim == 2 and not self.training:  # expect
            x = x + 1
        return x if self.training else x + 1  # expect
