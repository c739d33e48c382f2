"""State in a default, a class, a function, a variable of the function around, an iterator."""

import itertools

import torch

COUNT = itertools.count()


class Model(torch.nn.Module):
    calls = 0

    def forward(self, x, seen=[]):
        seen.append(x)  # expect
        Model.calls += 1  # expect
        type(self).calls += 1  # expect
        Model.forward.count = 1  # expect
        return x + next(COUNT)  # expect


def make():
    number = 0

    class Inner(torch.nn.Module):
        def forward(self, x):
            nonlocal number
            number += 1  # expect
            return x + number

    return Inner()
