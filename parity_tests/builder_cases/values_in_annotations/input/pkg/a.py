def norm(x):
    return x + 1


LIMIT = 3
