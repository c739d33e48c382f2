import torch
from torch import nn


def recording():
    return torch.is_grad_enabled()


class A(nn.Module):
    def forward(self, x):
        if torch.is_grad_enabled():  # expect
            x = x + 1
        x = x * (1.0 if recording() else 0.9)  # expect
        if torch.is_inference_mode_enabled():  # expect
            return x * 0.9
        scoring = not torch.is_grad_enabled()
        if scoring:  # expect
            x = x * 0.9
        if x.requires_grad:  # expect
            x = x + 1
        if x.grad_fn is None:  # expect
            x = x + 1
        if x.is_inference():  # expect
            return x
        return x
