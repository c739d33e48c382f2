"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/ops.py ====


def norm(x):
    return x * 10


ops_norm = norm  # for where another `norm` hides it


# ==== pkg/train.py ====


class Layer:
    def norm(self, x):
        return norm(x)

    def nested(self, x):
        def norm(y):
            return ops_norm(y) + 1

        return norm(x)

    inner = staticmethod(lambda norm: ops_norm(norm))


def outer(norm):
    return [ops_norm(norm) for norm in range(norm)], {norm: ops_norm(norm) for norm in (1,)}


def main():
    print(Layer().norm(1), Layer().nested(1), Layer.inner(2), outer(2))


if __name__ == "__main__":
    main()
