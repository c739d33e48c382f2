"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/early.py ====

TWO = 2


def go(x):
    from math import sqrt

    return work(x) + THREE + int(sqrt(4))


def only_import():
    pass


# ==== pkg/late.py ====
# Late.

THREE = TWO + 1


def work(x):
    return x * THREE


# ==== pkg/train.py ====

START = go(1)


def main():
    print(START, go(2), only_import(), THREE)


if __name__ == "__main__":
    main()
