"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import logging


# ==== pkg/data.py ====

logger = logging.getLogger("pkg.data")


def show():
    return f"{'pkg.data'} {logger.name}"


# ==== pkg/train.py ====


def main():
    print(show())


if __name__ == "__main__":
    main()
