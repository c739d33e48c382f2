"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import sys


# ==== pkg/ops.py ====

scale = 4


class Layer:
    if len(sys.path) > 1000:
        scale = 1
    seen = scale
    if len(sys.path) > 1000:
        width = 2
    else:
        width = 3
    both = width


# ==== pkg/train.py ====

width = 7


def main():
    print(Layer.seen, Layer.both, width)


if __name__ == "__main__":
    main()
