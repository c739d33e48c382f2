"""The mode asked for by functions that something else applies, and by what lists or sees all attributes."""

import operator
from functools import partial, reduce
from itertools import starmap

from torch import nn

MODE = "training"
ASK = (nn.Identity(), MODE)
by_call = operator.methodcaller("__getattribute__", "training")
by_item = operator.itemgetter("training")


def named(name):
    return lambda thing: getattr(thing, name)  # expect


class Model(nn.Module):
    def __setattr__(self, name, value):
        if name == "training":  # expect
            object.__setattr__(self, "mode", value)
        super().__setattr__(name, value)

    def eval(self):
        self.scale = 2.0
        return super().eval()

    def forward(self, x):
        if partial(getattr, self)(MODE):  # expect
            return x
        (flag,) = map(getattr, [self], ["training"])  # expect
        if by_call(self):  # expect
            return x
        if by_item(self.__dict__):  # expect
            return x
        if "{0.training}".format(self) == "True":  # expect
            return x
        state = self.__getstate__()
        if state["training"]:  # expect
            return x
        for _ in range(self.training):  # expect
            x = x + 1
        for key, value in vars(self).items():
            if key.startswith("train") and value:  # expect
                return x
        if getattr(*ASK):  # expect
            return x
        x = x + reduce(getattr, ["training"], self)  # expect
        x = x + next(starmap(getattr, [(self, "training")]))  # expect
        ask = self.__getattribute__
        if ask("training"):  # expect
            return x
        return x * self.scale if flag else named("training")(self) * x  # expect
