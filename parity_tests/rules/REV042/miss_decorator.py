import functools


@functools.lru_cache
def register(x):
    return x


@register
def other(x):
    return x
