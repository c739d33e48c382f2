"""Trains.

More about it.
"""

from .model import *
from . import model


def main():
    # Say it.
    print(size(), model.WIDTH)  # both


if __name__ == "__main__":
    main()
