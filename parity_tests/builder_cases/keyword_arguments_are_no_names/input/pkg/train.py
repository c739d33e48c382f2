"""A keyword argument, a dictionary's key, an attribute and a parameter have names of their own."""
from . import a, b
from .a import scale


def main(width=2):
    class Holder:
        scale = 7

    print(a.norm(scale=scale), b.norm(scale=3), dict(scale=scale), Holder.scale, Holder().scale)
    print((lambda scale: scale)(scale=4), width)


if __name__ == "__main__":
    main()
