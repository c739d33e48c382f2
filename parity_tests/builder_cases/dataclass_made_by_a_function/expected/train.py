"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import functools
from dataclasses import dataclass, fields


# ==== pkg/train.py ====

strict = functools.partial(dataclass, frozen=True, kw_only=True)


def record(cls=None, **options):
    def make(cls):
        return dataclass(**options)(cls)

    return make if cls is None else make(cls)


@strict
class First:
    x: int
    parent: "(First | None)" = None


@record(order=True)
class Second:
    y: float


class Third:
    z: str = "z"


def main():
    made = dataclass(Third)
    print(First(x=1), Second(2.0) < Second(3.0), made(), [f.name for f in fields(made)])


if __name__ == "__main__":
    main()
