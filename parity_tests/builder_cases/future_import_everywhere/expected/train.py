"""Docs.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

from __future__ import annotations


# ==== pkg/shapes.py ====


def show(x: Later) -> int:
    return x


class Later:
    pass


# ==== pkg/train.py ====


def main() -> None:
    print(show(1), show.__annotations__)


if __name__ == "__main__":
    main()
