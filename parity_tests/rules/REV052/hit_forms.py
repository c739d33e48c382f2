import torch


def f(x, y, n):
    a = x * 1  # expect
    b = 1 * x  # expect
    c = x / 1  # expect
    d = x**1  # expect
    e = x + 0  # expect
    f = 0 + x  # expect
    g = x - 0  # expect
    h = x - 0.0  # expect
    x *= 1.0  # expect
    x += 0  # expect
    y /= 1.0  # expect
    i = torch.mul(x, 1.0)  # expect
    j = x.mul(1.0)  # expect
    k = x.add_(0)  # expect
    m = - -x  # expect
    return a, b, c, d, e, f, g, h, i, j, k, m, (x + y) * 1.0  # expect
