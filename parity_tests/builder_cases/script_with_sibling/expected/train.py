"""Built from train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== helpers.py ====


def double(x):
    return 2 * x


# ==== train.py ====


def main():
    print(double(4))


if __name__ == "__main__":
    main()
