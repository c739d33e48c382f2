"""The same functions about other things, and the word where it says no mode."""

import operator
from functools import partial, reduce

import torch
from torch import nn

SECONDS = {"training": 0.0, "evaluation": 0.0}
norm = partial(nn.LayerNorm, 64, eps=1e-5)
shape_of = operator.attrgetter("shape")


class Config:
    depth = 2


class Model(nn.Module):
    def eval(self):
        return self.train(False)

    def __setattr__(self, name, value):
        if name == "cap":
            value = float(value)
        super().__setattr__(name, value)

    def forward(self, x):
        for _ in range(x.ndim):
            x = x + reduce(operator.mul, [1, 2], 1)
        return x


def phase(name):
    return name


def evaluate(model):
    was = getattr(model, "training", True)
    model.eval()
    if was:
        model.train()


if phase("training") == "training" and SECONDS["training"] > 1:
    print("training")
with torch.profiler.record_function("training"):
    print(list(map(int, ["1", "2"])), norm(), shape_of)
for key, value in vars(Config).items():
    if not key.startswith("_"):
        print(key, value)
