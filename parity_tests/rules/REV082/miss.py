import functools
import math

__version__ = "1"
TITLE = "a model"
SCALE = math.sqrt(2)


@functools.lru_cache
def registered():
    return 1


class Registry:
    def __init_subclass__(cls, name="", **words):
        super().__init_subclass__(**words)


class Entry(Registry, name="entry"):
    pass


class Model:
    depth = 1

    def forward(self, x):
        a, b = x
        _rest = x
        with open("x") as file:
            file.read()
        total = 0
        for _ in range(3):
            total += 1
        return a * SCALE + b + total


def helper(x):
    def inner():
        return x

    return inner


def load_for_eval(checkpoint_path, device):
    return helper(Model())


def main():
    load_for_eval("", "")
