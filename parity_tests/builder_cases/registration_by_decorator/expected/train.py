"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/registry.py ====

TABLE = {}


def register(name):
    def wrap(fn):
        TABLE[name] = fn
        return fn

    return wrap


# ==== pkg/layers.py ====


@register("double")
def double(x):
    return 2 * x


# ==== pkg/train.py ====


def main():
    print(TABLE["double"](4))


if __name__ == "__main__":
    main()
