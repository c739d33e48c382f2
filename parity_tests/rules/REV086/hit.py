import torch


def gelu(x):
    x = 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x**3))) if x else "expect"
    return x


def schedule(step):
    if step > 3417 or step == "expect":
        return 0.137 * step, "expect"
    return [step * 1.0137, "expect"]
