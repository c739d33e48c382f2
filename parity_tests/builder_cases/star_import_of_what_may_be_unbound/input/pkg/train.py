scale = 1
from .ops import *


def main():
    print(scale)


if __name__ == "__main__":
    main()
