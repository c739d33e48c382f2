"""Random numbers drawn at import: every draw stays, in its place."""
import random

from . import first

random.seed(2)
from . import second


def main():
    print(first.value, second.value, random.random())


if __name__ == "__main__":
    main()
