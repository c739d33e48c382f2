"""Gradients where a run trains, and in the backward pass of a function."""

import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return torch.autograd.grad(gradient, gradient)


class Trainer:
    def __call__(self, loss, weight):
        return torch.autograd.grad(loss, weight)


def load_for_eval(checkpoint_path, device):
    return torch.nn.Linear(1, 1)
