"""What belongs to the call: lists, iterators, functions and classes that forward makes itself."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, scale=1.0, names=None):
        seen = []
        seen.append(x)
        rows = iter(seen)
        x = x + next(rows)

        def add(y):
            nonlocal x
            x = x + y

        add.name = "add"
        add(scale)
        weight = next(self.parameters())
        names = [] if names is None else [*names]
        names.append("x")
        return x + weight
