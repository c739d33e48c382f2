"""Trains.

More about it.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import math


# ==== pkg/model.py ====
# Models.

# The width of everything.
WIDTH = 8  # in units


def size():
    """How large."""
    return math.sqrt(WIDTH * 2)


# ==== pkg/train.py ====


def main():
    # Say it.
    print(size(), WIDTH)  # both


if __name__ == "__main__":
    main()
