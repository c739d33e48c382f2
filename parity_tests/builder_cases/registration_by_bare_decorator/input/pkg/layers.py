import functools

from .registry import SEEN, register


@register
def double(x):
    return 2 * x


@register
class Handler:
    def run(self, x):
        return x + 1


@SEEN.append
def noted():
    return "noted"


@functools.cache
def unused(x):
    return x
