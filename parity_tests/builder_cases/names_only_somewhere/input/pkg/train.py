"""Imports of what not every platform has run where the program runs them, and not at the top of the file."""

from . import Lock

_lock = "train"


def main():
    print(Lock().take(), _lock)


if __name__ == "__main__":
    main()
