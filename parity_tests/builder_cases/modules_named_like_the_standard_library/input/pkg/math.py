import math


def half(x):
    return math.floor(x / 2)
