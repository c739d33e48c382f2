"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

from functools import singledispatch


# ==== pkg/show.py ====


@singledispatch
def show(value):
    return "something"


# ==== pkg/shows.py ====


@show.register
def _(value: int):
    return "int"


@show.register(str)
def _(value):
    return "str"


show.register(list, lambda value: "list")


# ==== pkg/train.py ====


def main():
    print(show(1), show("a"), show([]), show(1.5))


if __name__ == "__main__":
    main()
