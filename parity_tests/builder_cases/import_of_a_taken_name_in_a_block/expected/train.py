"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import cmath as math
import warnings


# ==== pkg/ops.py ====

with warnings.catch_warnings():
    import math as ops_math


def root(x):
    return ops_math.sqrt(x)


# ==== pkg/train.py ====


def main():
    print(math.sqrt(-4), root(4))


if __name__ == "__main__":
    main()
