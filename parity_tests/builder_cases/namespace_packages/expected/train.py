"""Directories without __init__.py are packages too, the entry's own included.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/sub/deep/b.py ====

TWO = 2


# ==== pkg/sub/a.py ====

ONE = TWO - 1


# ==== pkg/train.py ====


def main():
    print(ONE, ONE, TWO, TWO)


if __name__ == "__main__":
    main()
