"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import os as system


# ==== pkg/shapes.py ====

side = \
    2
depth \
    = side + \
    1


def area \
        (x,
         y=depth):
    return x * \
        y


# ==== pkg/more.py ====

if True: x = 1; y = 2


# ==== pkg/train.py ====


def main(
):
    print(area(side) + \
          side, \
          x, system.sep)


if \
        __name__ == "__main__":
    main()
