"""A base's `__init_subclass__`, or its metaclass, sees a subclass that nothing names.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/base.py ====

SEEN = []


class Layer:
    def __init_subclass__(cls, **options):
        SEEN.append((cls.__name__, sorted(options)))


class Meta(type):
    def __init__(cls, name, bases, body):
        SEEN.append(name)


class Traced(metaclass=Meta):
    pass


# ==== pkg/layers.py ====


class Attention(Layer, causal=True):
    pass


class Flash(Attention):
    pass


class Block(Traced):
    pass


# ==== pkg/train.py ====


def main():
    print(SEEN)


if __name__ == "__main__":
    main()
