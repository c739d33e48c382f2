"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/b.py ====


def odd(n):
    return False if n == 0 else even(n - 1)


# ==== pkg/a.py ====


def even(n):
    return True if n == 0 else odd(n - 1)


# ==== pkg/train.py ====


def main():
    print(even(10))


if __name__ == "__main__":
    main()
