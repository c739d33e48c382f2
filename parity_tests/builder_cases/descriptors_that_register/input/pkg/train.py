from . import model
from .fields import NAMES


def main():
    print(NAMES)


if __name__ == "__main__":
    main()
