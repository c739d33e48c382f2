from .a import *


def second():
    return ONE
