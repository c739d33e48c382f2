"""A late import of what is the same at any time.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import math


# ==== pkg/model.py ====

BASE = (2, math.floor(3.5))


def scale(x):
    return 2 * x


def width():
    return WIDTH, KINDS["plain"](2)


# ==== pkg/shapes.py ====

WIDTH = BASE[0] + BASE[1]
KINDS = {"plain": scale}


# ==== pkg/train.py ====


def main():
    print(width())


if __name__ == "__main__":
    main()
