"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/a.py ====

LIMIT = 1
_hidden = 2


def use():
    return LIMIT + _hidden


# ==== pkg/b.py ====

B_LIMIT = 10
_b_hidden = 20


def pkg_b_use():
    return B_LIMIT + _b_hidden


# ==== pkg/train.py ====

b_use = 1


def main():
    a_use = 2
    print(use(), pkg_b_use(), b_use, a_use)


if __name__ == "__main__":
    main()
