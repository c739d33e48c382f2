"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import atexit


# ==== pkg/cleanup.py ====


@atexit.register
def leave():
    print("left")


atexit.register(print, "leaving")


# ==== pkg/train.py ====


def main():
    print("training")


if __name__ == "__main__":
    main()
