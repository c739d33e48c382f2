"""The mode is found by its place among a model's attributes, or by a layer that trains otherwise than it scores."""

import functools
import inspect

import torch
from torch import nn


class ByPlace(nn.Module):
    def _held(self, name):
        return getattr(self, name)  # expect

    mode = functools.partialmethod(_held, "training")

    def forward(self, x):
        if next(iter(self.__dict__.values())):  # expect
            return x + 1
        if sorted(vars(self).items())[0][1]:  # expect
            return x + 2
        state = self.__dict__
        for value in state.values():
            if value is True:  # expect
                return x + 3
        held = dict(self.__dict__)
        if list(held.values())[0]:  # expect
            return x + 4
        for name in dir(self):
            if name.startswith("train"):  # expect
                return x + 5
        for name in vars(self):
            if name[0] == "t":  # expect
                return x + 6
        for _, value in inspect.getmembers(self):
            if value is True:  # expect
                return x + 7
        return x * 2 if self.mode() else x  # expect


class Always(nn.Dropout):
    pass


class ByLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.none = nn.Dropout(p=1.0)
        self.own = Always(0.9)
        self.norm = nn.BatchNorm1d(1)
        self.register_buffer("one", torch.ones(64))

    def forward(self, x):
        if (self.drop(torch.ones(64)) == 0).any():  # expect
            return x + 1
        probe = self.own(x.new_ones(64))
        x = torch.where(probe == 0, x, x * 2)  # expect
        if self.drop(self.one).min() > 0:  # expect
            return x + 2
        if torch.equal(self.drop(x), x):  # expect
            return x + 3
        y = self.drop(x)
        if y is x:  # expect
            return x + 4
        if self.norm(torch.ones(4, 1)).sum() == 0:  # expect
            return x + 5
        scale = 1 - self.none(x.abs())  # expect
        return x * scale * nn.functional.dropout(torch.ones(1), 1.0, self.training)  # expect
