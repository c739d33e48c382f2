import torch
import torch.nn as nn
import torch.nn.functional as F

from ..registry import NORMS, register


@register(NORMS, "rms")
class RMSNorm(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.width = config.width
        self.weight = nn.Parameter(torch.ones(config.width))

    def forward(self, x):
        return F.rms_norm(x, (self.width,), self.weight)


@register(NORMS, "layer")
class LayerNorm(nn.Module):
    """LayerNorm with an optional bias; torch's own cannot have bias=None."""

    def __init__(self, config):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(config.width))
        self.bias = nn.Parameter(torch.zeros(config.width)) if config.bias else None

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)
