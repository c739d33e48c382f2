"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/a.py ====

SCALE = 2


def norm(x):
    return helper(x) * SCALE


def helper(x):
    return x + 1


# ==== pkg/b.py ====

B_SCALE = 3


def b_norm(x):
    return b_helper(x) * B_SCALE


def b_helper(x):
    return x + 100


# ==== pkg/train.py ====


def main():
    print(b_norm(1), norm(1), B_SCALE, SCALE)


if __name__ == "__main__":
    main()
