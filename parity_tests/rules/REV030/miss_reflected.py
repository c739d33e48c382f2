"""Dropout that is only dropout, also of a mask; attributes that are listed by what is no model, or to be shown."""

import torch
from torch import nn


class Config:
    def shown(self):
        return [f"{name}={value}" for name, value in vars(self).items() if value is not None]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.1)
        self.act = nn.RReLU()
        self.scales = {"a": 1.0}

    def extra_repr(self):
        return ", ".join(f"{name}={value}" for name, value in vars(self).items() if isinstance(value, float))

    def __getstate__(self):
        state = dict(self.__dict__)
        if "cache" in state:
            del state["cache"]
        return state

    def forward(self, x, targets=None):
        x = x + self.drop(self.act(x))
        mask = self.drop(torch.ones(x.size(0), 1, x.size(2)))
        x = x * mask
        if x.size(1) > 128:
            x = x[:, :128]
        x = x[x.topk(2).indices]
        for name, scale in self.scales.items():
            if name == "a":
                x = x * scale
        x = torch.where(x > 0, x, 0)
        if torch.equal(x, targets):
            return x
        return nn.functional.dropout(x, 0.1, self.training)
