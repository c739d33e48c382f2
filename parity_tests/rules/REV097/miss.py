import functools

settings = {"lr": 0.02, "depth": 12, 1: "a", True: "b", **{"lr": 1}}


@functools.singledispatch
def norm(x):
    return x


@norm.register
def _(x: int):
    return x


@norm.register
def _(x: str):
    return x


class Config:
    @property
    def depth(self):
        return self._depth

    @depth.setter
    def depth(self, value):
        self._depth = value


if settings:

    def run():
        return 1
else:

    def run():
        return 2
