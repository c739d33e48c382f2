"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/sub/deep/__init__.py ====

LEVEL = 2


# ==== pkg/base.py ====

BASE = 100


# ==== pkg/sub/deep/ops.py ====


def norm(x):
    return BASE * x


def scale(x):
    return x * LEVEL


# ==== pkg/train.py ====


def main():
    print(norm(1), scale(2), norm(3), scale(4), norm(5), BASE, LEVEL)


if __name__ == "__main__":
    main()
