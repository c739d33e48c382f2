"""What another module does as the main program never runs, and keeps nothing, though it binds names of the module."""

from .table import show


def main():
    print(show())


if __name__ == "__main__":
    main()
