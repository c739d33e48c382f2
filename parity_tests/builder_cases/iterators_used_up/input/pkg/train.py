"""What walks through an iterator changes it, whether its result is used or not."""
from .data import rest


def main():
    print(rest)


if __name__ == "__main__":
    main()
