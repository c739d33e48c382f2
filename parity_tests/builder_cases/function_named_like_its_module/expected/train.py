"""`from .norm import norm` in the package's `__init__` hides the module for good.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/norm.py ====

EPS = 1


def norm(x):
    return x + EPS


# ==== pkg/train.py ====


def main():
    print(norm(2), norm(3))


if __name__ == "__main__":
    main()
