"""What nothing reaches, and what is there for type checkers only, needs no package."""
from typing import TYPE_CHECKING

from .model import build

if TYPE_CHECKING:
    import pandas


def plot():
    import matplotlib.pyplot as plt

    return plt


def main():
    print(build())


if __name__ == "__main__":
    main()
