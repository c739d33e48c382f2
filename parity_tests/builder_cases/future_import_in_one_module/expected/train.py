"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

from typing import NamedTuple


# ==== pkg/shapes.py ====


class Node:
    def join(self, other: "Node", count: "int" = 1) -> "Node":
        return other


# ==== pkg/train.py ====


class Pair(NamedTuple):
    left: int
    right: float


def main():
    print(Pair.__annotations__, Node.join.__annotations__, Node().join(3))


if __name__ == "__main__":
    main()
