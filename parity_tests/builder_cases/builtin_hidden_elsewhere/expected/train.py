"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/a.py ====


def a_max(x):
    return x


def use():
    return a_max(1)


# ==== pkg/train.py ====


def main():
    print(max(1, 2), a_max(3), use())


if __name__ == "__main__":
    main()
