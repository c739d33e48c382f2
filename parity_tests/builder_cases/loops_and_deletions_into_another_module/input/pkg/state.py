step = 0
file = first = None
rest = []


def advance():
    return step
