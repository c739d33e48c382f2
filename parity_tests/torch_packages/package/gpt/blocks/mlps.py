import torch.nn as nn
from torch.nn import functional as F

from ..registry import MLPS, register

__all__ = ["MLP"]


class MLP(nn.Module):
    expansion = 4

    def __init__(self, config):
        super().__init__()
        hidden = self.hidden(config)
        self.up = nn.Linear(config.width, hidden, bias=config.bias)
        self.down = nn.Linear(hidden, config.width, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def hidden(self, config):
        return self.expansion * config.width

    def activation(self, x):
        raise NotImplementedError

    def forward(self, x):
        return self.dropout(self.down(self.activation(self.up(x))))


@register(MLPS, "relu2")
class ReluSquared(MLP):
    def activation(self, x):
        return F.relu(x).square()


@register(MLPS, "gelu")
class Gelu(MLP):
    def activation(self, x):
        return F.gelu(x)


@register(MLPS, "swiglu")
class SwiGLU(MLP):
    expansion = 3

    def __init__(self, config):
        super().__init__(config)
        self.gate = nn.Linear(config.width, self.hidden(config), bias=False)

    def forward(self, x):
        return self.dropout(self.down(F.silu(self.gate(x)) * self.up(x)))
