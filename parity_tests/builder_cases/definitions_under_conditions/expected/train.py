"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import sys


# ==== pkg/shapes.py ====

SQUARE = len(sys.path) >= 0

if SQUARE:

    def area(side):
        return side * side

    name = "square"
else:

    def area(side):
        return 3 * side * side

    name = "circle"

for kind in ("first", "second"):

    def scale(x, kind=kind):
        return kind, x


# ==== pkg/train.py ====


def main():
    print(area(2), name, scale(3))


if __name__ == "__main__":
    main()
