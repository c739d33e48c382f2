from . import more
from .more import *

__all__: list[str] = ["norm"] + more.__all__
__all__ += ["scale"]
__all__.append("attend")
__all__.extend(("mix",))


def norm():
    return 1


def scale():
    return 2


def attend():
    return 3


def mix():
    return 4


def hidden():
    return 5


print(__all__)
