from . import model
from .model import norm as scale


def build():
    Block = model.Block()
    return Block


def apply(x, norm):
    return norm + scale(x)


def count(LIMIT=5):
    return [LIMIT for LIMIT in range(model.LIMIT)], model.LIMIT, LIMIT


class Holder:
    norm = 7

    def value(self, Block=1):
        return model.Block(), scale(self.norm), Block


def main():
    print(build(), apply(4, norm=3), count(), Holder().value())


if __name__ == "__main__":
    main()
