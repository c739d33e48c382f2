import cmath as math

from .ops import root


def main():
    print(math.sqrt(-4), root(4))


if __name__ == "__main__":
    main()
