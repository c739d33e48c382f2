import contextlib

with contextlib.nullcontext():
    from .ops import norm as scaled

while True:
    from .ops import EPS as eps

    break


class Layer:
    from math import floor

    from .ops import norm

    EPS = eps

    def run(self):
        return Layer.norm(self.EPS), self.floor(2.5)


def setup():
    global late
    from .ops import late


def main():
    setup()
    print(scaled(1), Layer().run(), late)


if __name__ == "__main__":
    main()
