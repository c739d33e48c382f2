"""Pickle looks a class up in the module that it names."""

import pickle

from .shapes import Plain


def main() -> None:
    value = pickle.loads(pickle.dumps(Plain()))
    print(type(value).__module__)


if __name__ == "__main__":
    main()
