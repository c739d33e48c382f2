LIMIT = 1
_hidden = 2


def use():
    return LIMIT + _hidden
