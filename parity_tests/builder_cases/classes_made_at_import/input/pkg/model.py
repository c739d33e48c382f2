import enum


class Kind(enum.Enum):
    DENSE = 1
    SPARSE = 2

    def __init__(self, number):
        print("kind", number)


class Quiet(enum.Enum):
    ONE = enum.auto()


class Block:
    for size in range(2):
        print("size", size)


class Head(print("base") or object):
    pass


class Tail(metaclass=(print("metaclass") or type)):
    pass
