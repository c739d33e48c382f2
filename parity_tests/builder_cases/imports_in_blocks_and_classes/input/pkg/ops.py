EPS = 1
late = "late"


def norm(x):
    return x + EPS
