import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def forward(self, x):
        if torch.is_grad_enabled():
            x = checkpoint(self.block, x, use_reentrant=False)
        else:
            x = self.block(x)
        if not torch.is_grad_enabled():
            return self.block(x)
        return checkpoint(self.block, x, use_reentrant=False)


def freeze(model):
    for p in model.parameters():
        if p.requires_grad:
            p.requires_grad_(False)
    if torch.is_grad_enabled():
        raise RuntimeError("call it without gradients")
