import torch.nn.functional as F
from torch import nn


class Gate(nn.Module):
    def __init__(self, smooth):
        super().__init__()
        self.activation = F.silu if smooth else F.sigmoid
        self.loss, self.width = F.cross_entropy, 2

    def forward(self, x, targets):
        return self.loss(self.activation(x), targets)
