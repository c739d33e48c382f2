"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

from dataclasses import dataclass


# ==== pkg/train.py ====


@dataclass
class Point:
    x: int


def main():
    print(Point(1))


if __name__ == "__main__":
    main()
