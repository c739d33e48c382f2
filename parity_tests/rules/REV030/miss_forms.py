import torch
import torch.nn.functional as F
from torch import nn


class A(nn.Module):
    def forward(self, x):
        x = F.dropout(x, 0.1, self.training)
        x = F.dropout(x, p=0.1, training=self.training)
        if x.ndim == 2:
            x = x[None]
        return x


def evaluate(model, batches):
    was_training = model.training
    model.eval()
    total = sum(model(x).sum() for x in batches)
    if was_training:
        model.train()
    model.train(was_training)
    assert model.training or not was_training
    return total


def check(model):
    if model.training:
        raise RuntimeError("the model must be in eval mode")
    print(model.training)


def main(config):
    if config.training.compile:
        print("compile")
    if config.training:
        return torch.compile
    return None
