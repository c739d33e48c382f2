"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import math
import random
import random as standard
from math import floor


# ==== pkg/math.py ====


def half(x):
    return math.floor(x / 2)


# ==== pkg/random.py ====


def draw():
    return random.Random(2).randint(1, 9)


# ==== pkg/train.py ====


def main():
    print(half(5), floor(2.5), draw(), standard.Random(1).randint(1, 9))


if __name__ == "__main__":
    main()
