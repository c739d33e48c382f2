"""A late import of what is the same at any time."""
from .model import width


def main():
    print(width())


if __name__ == "__main__":
    main()
