"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import sys


# ==== pkg/log.py ====

LINES = []
LINES.append("log")
LINES[0] += "!"


class Meta(type):
    def __init__(cls, *args):
        LINES.append(cls.__name__)
        super().__init__(*args)


class Base(metaclass=Meta):
    pass


class Child(Base):
    pass


class Hooked:
    def __init_subclass__(cls):
        LINES.append(cls.__name__)


class Sub(Hooked):
    pass


for name in ("a", "b"):
    LINES.append(name)

sys.setrecursionlimit(2000)


# ==== pkg/train.py ====


def main():
    print(LINES)


if __name__ == "__main__":
    main()
