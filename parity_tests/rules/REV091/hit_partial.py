"""A method that another name stands for."""

import functools

import torch


class Model(torch.nn.Module):
    def _keep(self, name, x):
        self.seen = {name: x}  # expect
        return x

    keep = functools.partialmethod(_keep, "last")

    def forward(self, x):
        return self.keep(x)
