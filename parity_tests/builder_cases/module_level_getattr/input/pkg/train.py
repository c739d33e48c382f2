from . import a
from .a import anything
from math import *


def main():
    print(a.thing, anything, pi)


if __name__ == "__main__":
    main()
