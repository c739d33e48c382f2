"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import sys


# ==== pkg/fast.py ====


def norm(x):
    return x * 2


# ==== pkg/slow.py ====


def slow_norm(x):
    return x * 3


# ==== pkg/train.py ====

if sys.maxsize > 0:
    train_norm = norm
    import json as codec
else:
    train_norm = slow_norm
    import pickle as codec


def main():
    print(train_norm(1), codec.__name__)


if __name__ == "__main__":
    main()
