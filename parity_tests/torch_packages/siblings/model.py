"""Models. MLP-mixers first, a transformer later."""
import os

import torch
from torch import nn

# global constants, changed by hand or by the environment
WIDTH = int(os.environ.get("M_WIDTH", "24"))
DEPTH = int(os.getenv("M_DEPTH") or 2)
MIX = os.environ.get("M_MIX", "conv")
eps = 1e-6


def norm(x):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)


class Conv(nn.Module):
    """Causal mixing over the last K tokens."""

    K = 3

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(self.K, WIDTH) * 0.3)

    def forward(self, x):
        padded = nn.functional.pad(x, (0, 0, self.K - 1, 0))
        return sum(padded[:, i : i + x.size(1)] * self.w[i] for i in range(self.K))


class Mean(nn.Module):
    """Causal running mean."""

    def forward(self, x):
        return x.cumsum(1) / torch.arange(1, x.size(1) + 1)[:, None]


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        if MIX == "conv":
            self.mix = Conv()
        elif MIX == "mean":
            self.mix = Mean()
        else:
            raise ValueError(MIX)
        self.fc = nn.Linear(WIDTH, 2 * WIDTH)
        self.proj = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        x = x + self.mix(norm(x))
        return x + self.proj(torch.tanh(self.fc(norm(x))))


class Net(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.emb = nn.Embedding(vocab, WIDTH)
        self.layers = nn.Sequential(*[Layer() for _ in range(DEPTH)])
        self.out = nn.Linear(WIDTH, vocab)

    def forward(self, idx):
        return self.out(norm(self.layers(self.emb(idx))))


class BigNet(Net):
    """With a second head; not used at the moment"""

    def __init__(self, vocab):
        super().__init__(vocab)
        self.out2 = nn.Linear(WIDTH, vocab)
