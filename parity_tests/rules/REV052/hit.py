def f(x):
    y = x * 1.0  # expect
    return 0.0 + y  # expect
