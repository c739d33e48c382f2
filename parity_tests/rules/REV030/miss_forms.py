import torch
import torch.nn.functional as F
from torch import nn


class A(nn.Module):
    def forward(self, x):
        x = F.dropout(x, 0.1, self.training)
        x = F.dropout(x, p=0.1, training=self.training)
        x = F.scaled_dot_product_attention(x, x, x, dropout_p=self.rate if self.training else 0.0, is_causal=True)
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


def build(config):
    return choose(config.training)


def choose(training):
    return {"bf16": torch.bfloat16, "fp32": torch.float32}[training.dtype]


def exists(value):
    return value is not None


def default(value, other):
    return value if exists(value) else other


class B(nn.Module):
    def __init__(self):
        super().__init__()
        self.rate = default(None, 0.5)

    def drop(self, x, active):
        return F.dropout(x, default(self.rate, 0.1), active)

    def forward(self, x):
        y = self.drop(x, self.training)
        if exists(self.rate) and y.ndim == 3:
            y = y + x
        return y


class Trainer:
    def train(self):
        self.step = 0
        while self.step < 3:
            self.step += 1
