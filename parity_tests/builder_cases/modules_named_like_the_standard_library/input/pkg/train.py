import random as standard
from math import floor

from . import math, random


def main():
    print(math.half(5), floor(2.5), random.draw(), standard.Random(1).randint(1, 9))


if __name__ == "__main__":
    main()
