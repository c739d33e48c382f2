"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/a.py ====

ONE = 1


# ==== pkg/b.py ====


def second():
    return ONE


# ==== pkg/a.py (continued) ====


def first():
    return second() + ONE


# ==== pkg/train.py ====


def main():
    print(first())


if __name__ == "__main__":
    main()
