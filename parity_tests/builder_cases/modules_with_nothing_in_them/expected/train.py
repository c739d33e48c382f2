"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/last.py ====

WIDTH = 4  # no newline


# ==== pkg/train.py ====


def main():
    print(WIDTH)


if __name__ == "__main__":
    main()
