import torch


def f(x, n):
    a = (x > 0) * 1.0
    b = x // 1
    c = 1 - x
    d = 1 / x
    e = 0 - x
    f = x[0] + 1
    g = [0] * n
    h = {0}
    h.add(0)
    k = x.add(0, alpha=2)
    i = -(-n // 128)
    j = 1 + 0
    m = torch.mul(x, 2.0)
    return a, b, c, d, e, f, g, h, i, j, k, m
