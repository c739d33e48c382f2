from . import first

print("second")
two = 2


def again():
    return first.one
