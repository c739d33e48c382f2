SCALE = 2


def norm(x):
    return helper(x) * SCALE


def helper(x):
    return x + 1
