"""Two optimizers over one base."""

import torch


class _Base(torch.optim.Optimizer):
    def __init__(self, params, lr, **more):
        super().__init__(params, dict(lr=lr, **more))

    def direction(self, p, state, group):
        raise NotImplementedError

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(self.direction(p, self.state[p], group), alpha=-group["lr"])


class SignMomentum(_Base):
    def direction(self, p, state, group):
        m = state.setdefault("m", torch.zeros_like(p))
        m.lerp_(p.grad, 0.1)
        return m.sign()


class Shampooish(_Base):
    """Whitens rows by a running second moment."""

    def direction(self, p, state, group):
        l = state.setdefault("l", torch.eye(p.size(0)) * 1e-4)
        l.lerp_(p.grad @ p.grad.T, 0.2)
        return torch.linalg.solve(l + 1e-5 * torch.eye(p.size(0)), p.grad) * 1e-3
