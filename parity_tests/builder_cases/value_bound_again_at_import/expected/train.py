"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/state.py ====

width = 1


# ==== pkg/reader.py ====

early = width


# ==== pkg/state.py (continued) ====

width = 2


# ==== pkg/train.py ====


def main():
    print(width, width, early)


if __name__ == "__main__":
    main()
