"""What runs when a class is made: members of enumerations, loops and calls in its body, its bases, its keywords.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import enum


# ==== pkg/model.py ====


class Kind(enum.Enum):
    DENSE = 1
    SPARSE = 2

    def __init__(self, number):
        print("kind", number)


class Block:
    for size in range(2):
        print("size", size)


class Head(print("base") or object):
    pass


class Tail(metaclass=(print("metaclass") or type)):
    pass


# ==== pkg/train.py ====


def main():
    print("training")


if __name__ == "__main__":
    main()
