def f(x):
    return x * 1.5 + 1.0 - 0.5
