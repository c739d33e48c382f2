from .a import *


def main():
    print(first())


if __name__ == "__main__":
    main()
