from . import second

print("first")
one: int = 1


def later():
    return second.two
