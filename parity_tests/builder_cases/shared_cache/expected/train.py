"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import functools


# ==== pkg/tables.py ====


@functools.lru_cache(maxsize=None)
def table(size):
    return size * 2


# ==== pkg/other.py ====


def fill():
    return table(1)


# ==== pkg/train.py ====


def main():
    fill()
    print(table(1), table.cache_info().hits)


if __name__ == "__main__":
    main()
