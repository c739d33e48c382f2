import random


def draw():
    return random.Random(2).randint(1, 9)
