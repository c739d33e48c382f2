from torch.optim import SGD, AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR
import torch
import math

__all__ = ["Lion", "cosine", "build"]


class Lion(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), wd=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "wd": wd})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in filter(lambda p: p.grad is not None, group["params"]):
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                b1, b2 = group["betas"]
                if group["wd"] > 0:
                    p.mul_(1 - group["lr"] * group["wd"])
                p.add_(m.lerp(p.grad, 1 - b1).sign_(), alpha=-group["lr"])
                m.lerp_(p.grad, 1 - b2)


def cosine(optimizer, warmup, total):
    def scale(step):
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))

    return LambdaLR(optimizer, scale)


def build(kind, params, lr):
    return {"lion": Lion, "adamw": AdamW, "sgd": SGD}[kind](params, lr=lr)
