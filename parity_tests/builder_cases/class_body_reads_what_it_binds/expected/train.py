"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/a.py ====


def norm(x):
    return x + 1


# ==== pkg/b.py ====


def b_norm(x):
    return x + 2


# ==== pkg/train.py ====


class Layer:
    norm = norm(1)


def main():
    print(Layer.norm, b_norm(1))


if __name__ == "__main__":
    main()
