for _ in range(1):
    from .ops import *


def main():
    print(norm())


if __name__ == "__main__":
    main()
