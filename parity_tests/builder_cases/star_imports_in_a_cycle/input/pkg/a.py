ONE = 1

from .b import *


def first():
    return second() + ONE
