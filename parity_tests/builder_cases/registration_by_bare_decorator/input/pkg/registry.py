TABLE = {}
SEEN = []


def register(made):
    TABLE[made.__name__] = made
    return made
