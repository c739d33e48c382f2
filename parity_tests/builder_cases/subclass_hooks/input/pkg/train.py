"""A base's `__init_subclass__`, or its metaclass, sees a subclass that nothing names."""
from . import layers
from .base import SEEN


def main():
    print(SEEN)


if __name__ == "__main__":
    main()
