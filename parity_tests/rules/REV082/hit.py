import math

SCALE = math.sqrt(2)  # expect
unused = [1, 2]  # expect


def old_schedule(step):  # expect
    return step


def recursive(step):  # expect
    return recursive(step - 1) if step else 0


class Lion:  # expect
    pass


def main():
    left = math.pi  # expect
    for index in range(3):
        print(index)
