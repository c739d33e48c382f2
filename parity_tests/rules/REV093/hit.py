import torch
from torch import nn


class A(nn.Module):
    def forward(self, x):
        scale = x.abs().max().item()  # expect
        y = x.cpu()  # expect
        y = y + x.to("cpu")  # expect
        y = y + x.to(device="cpu", dtype=torch.float32)  # expect
        y = y + self.helper(x)
        return y * scale

    def helper(self, x):
        return torch.tensor(x.tolist())  # expect
