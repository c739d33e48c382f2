"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/ops.py ====


def norm(x):
    return 2 * x


ops_norm = norm  # for where another `norm` hides it


# ==== pkg/train.py ====


class Layer:
    @staticmethod
    def norm():
        return 0

    width = ops_norm(3)
    ops = width


def main():
    print(Layer.width, Layer.ops, Layer.norm(), norm(1))


if __name__ == "__main__":
    main()
