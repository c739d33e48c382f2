"""A keyword argument, a dictionary's key, an attribute and a parameter have names of their own.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/a.py ====

scale = 1


def norm(*, scale=scale):
    return scale


# ==== pkg/b.py ====


def b_norm(scale):
    return globals_free(scale=scale)


def globals_free(**scale):
    return scale


# ==== pkg/train.py ====


def main(width=2):
    class Holder:
        scale = 7

    print(norm(scale=scale), b_norm(scale=3), dict(scale=scale), Holder.scale, Holder().scale)
    print((lambda scale: scale)(scale=4), width)


if __name__ == "__main__":
    main()
