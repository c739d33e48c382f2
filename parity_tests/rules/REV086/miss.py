import torch

SLOPE = 0.137
CUT = 3417


def newton_schulz(x):
    a, b, c = 3.4445, -4.7750, 2.0315
    eps = 1.25e-7
    return a * x + b * x**3 + c * x**5 + eps


def gelu(x):
    return x * torch.sigmoid(1.702 * x)  # the usual approximation


def silu(x):
    # 1.702 is the usual approximation
    return x * torch.sigmoid(1.702 * x)


def run(x, scale=0.137):
    torch.manual_seed(1337)
    x = torch.nn.functional.leaky_relu(x, negative_slope=0.137)
    assert x.shape[0] < 1234
    y = x.view(-1, 768)
    return y[:, :1024] * 0.02 + 1e-6 + 2000 * scale + 4095
