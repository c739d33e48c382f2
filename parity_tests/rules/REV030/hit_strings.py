from operator import attrgetter

from torch import nn

MODE = "train" + "ing"
ask = getattr
mode_of = attrgetter(f"{'train'}ing")


class Joined(nn.Module):
    def forward(self, x):
        if getattr(self, "train" + "ing"):  # expect
            return x
        return x * 2


class Aliased(nn.Module):
    def forward(self, x):
        if ask(self, MODE):  # expect
            return x
        return x * 2 if mode_of(self) else x  # expect


class Put(nn.Module):
    def forward(self, x):
        if vars(self)["".join(["train", "ing"])]:  # expect
            return x
        if (on := self.__dict__.get("%sing" % "train")) and on:  # expect
            return x
        return x + 1


class Matched(nn.Module):
    def forward(self, x):
        match self:
            case nn.Module(training=True):  # expect
                return x
        match getattr(self, "gniniart"[::-1]):  # expect
            case True:
                return x
        return x
