LIMIT = 10
_hidden = 20


def use():
    return LIMIT + _hidden
