from typing import NamedTuple

from pkg.shapes import Node


class Pair(NamedTuple):
    left: int
    right: float


def main():
    print(Pair.__annotations__, Node.join.__annotations__, Node().join(3))


if __name__ == "__main__":
    main()
