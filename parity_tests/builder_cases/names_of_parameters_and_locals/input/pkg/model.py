class Block:
    def __repr__(self):
        return "a block"


def norm(x):
    return x / 2


LIMIT = 3
