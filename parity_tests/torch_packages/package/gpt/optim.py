"""Muon for matrices, AdamW or SGD for the rest."""

import torch
from torch.optim import AdamW, Optimizer


def orthogonalize(g, steps=5, eps=1e-7):
    """Newton-Schulz, quintic."""
    a, b, c = (3.4445, -4.7750, 2.0315)
    x = g / (g.norm() + eps)
    if transposed := g.size(0) > g.size(1):
        x = x.mT
    for _ in range(steps):
        s = x @ x.mT
        x = a * x + (b * s + c * s @ s) @ x
    return x.mT if transposed else x


class Muon(Optimizer):
    def __init__(self, params, *, lr=0.02, momentum=0.95, nesterov=True):
        defaults = dict(lr=lr, momentum=momentum, nesterov=nesterov)
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure=None):
        loss = closure() if closure is not None else None
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                buffer = self.state[p].setdefault("momentum", torch.zeros_like(p))
                buffer.mul_(group["momentum"]).add_(p.grad)
                g = p.grad.add(buffer, alpha=group["momentum"]) if group["nesterov"] else buffer
                p.add_(orthogonalize(g), alpha=-group["lr"] * max(1, p.size(0) / p.size(1)) ** 0.5)
        return loss


def make_optimizers(model, config):
    matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and "blocks" in n]
    others = [p for n, p in model.named_parameters() if not (p.ndim == 2 and "blocks" in n)]
    if config.optimizer == "muon":
        return [Muon(matrices, lr=config.lr), AdamW(others, lr=config.lr / 5, betas=config.betas, weight_decay=0.0)]
    elif config.optimizer == "adamw":
        return [AdamW(matrices + others, lr=config.lr, betas=config.betas, weight_decay=0.01)]
    from torch.optim import SGD

    return [SGD(matrices + others, lr=config.lr, momentum=0.9)]
