import sys

LINES = []
LINES.append("log")
LINES[0] += "!"


class Meta(type):
    def __init__(cls, *args):
        LINES.append(cls.__name__)
        super().__init__(*args)


class Base(metaclass=Meta):
    pass


class Child(Base):
    pass


class Hooked:
    def __init_subclass__(cls):
        LINES.append(cls.__name__)


class Sub(Hooked):
    pass


for name in ("a", "b"):
    LINES.append(name)

sys.setrecursionlimit(2000)
