def norm(x):
    return x + missing
