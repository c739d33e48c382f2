"""What runs when a class is made: members of enumerations, loops and calls in its body, its bases, its keywords."""
from . import model


def main():
    print("training")


if __name__ == "__main__":
    main()
