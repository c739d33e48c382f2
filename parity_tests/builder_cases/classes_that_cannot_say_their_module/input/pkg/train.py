"""A class made without a class statement: nothing says where it stood."""

from .made import make


def main() -> None:
    value = make("Made")()
    print(type(value).__module__, value.__class__.__module__)


if __name__ == "__main__":
    main()
