import operator

import torch
from torch import nn


def in_training(module):
    return module.training


class A(nn.Module):
    def __init__(self):
        super().__init__()
        self.noisy = False
        self.scales = {True: 1.0, False: 0.9}

    def train(self, mode=True):
        self.noisy = mode
        return super().train(mode)

    @property
    def scoring(self):
        return not self.training

    def forward(self, x):
        if getattr(self, "training"):  # expect
            x = x + 1
        x = self.training and x + 1 or x  # expect
        match self.training:  # expect
            case True:
                x = x + 1
        scoring = not self.training
        if scoring:  # expect
            x = x * 0.9
        x = x * self.scales[self.training]  # expect
        x = x * (1.0 if self.scoring else 0.9)  # expect
        if in_training(self):  # expect
            x = x + 1
        if self.noisy:  # expect
            x = x + torch.randn_like(x)
        if vars(self)["training"]:  # expect
            x = x + 1
        if self.__dict__["training"]:  # expect
            x = x + 1
        if operator.attrgetter("training")(self):  # expect
            x = x + 1
        x = x + 0.1 * float(self.training)  # expect
        x = (x, x * 0.9)[self.training]  # expect
        while self.training:  # expect
            return x
        x = torch.where(torch.tensor(self.training), x, x * 0.9)  # expect
        return self.head(x, self.training)

    def head(self, x, full):
        if full:  # expect
            return self.linear(x)
        return self.linear(x[:, -1:])


def attention(x, module):
    mode = "train" if module.training else "eval"  # expect
    if mode == "train":  # expect
        return x
    return x * 0.9
