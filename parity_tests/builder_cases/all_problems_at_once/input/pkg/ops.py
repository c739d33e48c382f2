from .lost import nothing

WIDTH = eval("1")


def width():
    from .hidden import depth

    return depth, nothing
