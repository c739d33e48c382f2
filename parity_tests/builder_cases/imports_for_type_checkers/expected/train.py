"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

from __future__ import annotations

from collections.abc import Iterator


# ==== pkg/a.py ====


def work(thing: Thing) -> Iterator[int]:
    other: Other = thing
    return iter([other])


# ==== pkg/b.py ====


class Other:
    pass


class Thing(Other):
    def go(self: Thing) -> int:
        return next(work(1))


# ==== pkg/train.py ====


def main() -> None:
    print(next(work(2)))


if __name__ == "__main__":
    main()
