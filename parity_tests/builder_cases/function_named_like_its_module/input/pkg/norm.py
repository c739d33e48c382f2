EPS = 1


def norm(x):
    return x + EPS
