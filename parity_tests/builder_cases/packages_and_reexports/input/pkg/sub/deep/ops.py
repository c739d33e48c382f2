from ... import base
from ..deep import LEVEL


def norm(x):
    return base.BASE * x


def scale(x):
    return x * LEVEL
